import { withListFees } from "../../common/model-data/list-fees.ts";
import type { Price } from "../../common/pricing.ts";
import { priceAt } from "../domain/pricing.ts";
import type { PriceVersion, UsageRow } from "../domain/records.ts";
import { costAt } from "../domain/token-price.ts";
import { pricedModelOf } from "../domain/trained-names.ts";
import type { GatewayConfig } from "../gateway-config/gateway-config.ts";
import { collect } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";

/** Prices that calls were charged by, cached per model for one check or replay. */
export class PriceBook {
  readonly #reader: Reader;
  readonly #gateway: Pick<GatewayConfig, "deployments">;
  readonly #versions = new Map<string, Promise<readonly PriceVersion[]>>();
  readonly #modelIds = new Map<string, Promise<string | undefined>>();

  constructor(reader: Reader, gateway: Pick<GatewayConfig, "deployments">) {
    this.#reader = reader;
    this.#gateway = gateway;
  }

  /** The price version that the row names; undefined if it is not stored or does not give the row's cost. */
  async priceOf(row: UsageRow): Promise<Price | undefined> {
    if (row.priceVersion > 0) return this.#versionOf(row);
    // Prices of the file have no versions: the current one counts if it gives the row's cost.
    const price = this.#gateway.deployments.find(({ id }) => id === row.deploymentId)?.price;
    return price && row.cost > 0n && costAt(row, price) === row.cost ? price : undefined;
  }

  /**
   * The cost of the call with the price in force at another time; undefined if it cannot be computed exactly. The row's own price must
   * give the row's own cost first.
   */
  async costWithPricesAt(row: UsageRow, at: number): Promise<bigint | undefined> {
    if (row.usage.total === 0 && row.cost === 0n) return 0n;
    const own = row.priceVersion > 0 ? await this.#versionOf(row) : undefined;
    if (!own || costAt(row, own) !== row.cost) return undefined;
    const then = priceAt(await this.#versionsOf(own.modelId), at);
    return then && costAt(row, then);
  }

  async #versionOf(row: UsageRow): Promise<PriceVersion | undefined> {
    for (const modelId of await this.#modelsOf(row)) {
      const price = (await this.#versionsOf(modelId)).find(({ version }) => version === row.priceVersion);
      if (price && fits(row, price)) return price;
    }
    return undefined;
  }

  /** A model of the store is its own deployment; a deployment of the file has the price of the catalog model of the same name. */
  async #modelsOf(row: UsageRow): Promise<string[]> {
    const configured = this.#gateway.deployments.find(({ id }) => id === row.deploymentId);
    const named = await Promise.all([configured?.modelName, row.model].map((name) => name && this.#modelId(name)));
    return [pricedModelOf(row.deploymentId), ...named].flatMap((id) => id || []);
  }

  #versionsOf(modelId: string): Promise<readonly PriceVersion[]> {
    const known = this.#versions.get(modelId) ?? this.#readVersions(modelId);
    this.#versions.set(modelId, known);
    return known;
  }

  /** With the fees that edges bill by where a version has none of its own. */
  async #readVersions(modelId: string): Promise<readonly PriceVersion[]> {
    const versions = await collect(this.#reader.scan("prices", { index: "byModel", equals: [modelId] }));
    const model = await this.#reader.get("models", modelId);
    const provider = model && (await this.#reader.get("providers", model.providerId));
    return provider ? versions.map((version) => withListFees(version, provider.kind)) : versions;
  }

  #modelId(name: string): Promise<string | undefined> {
    const known = this.#modelIds.get(name) ?? this.#reader.find("models", "byName", [name]).then((model) => model?.id);
    this.#modelIds.set(name, known);
    return known;
  }
}

/** Whether the price can be the one that the call was charged by: after a rename, the same version number may belong to another model. */
function fits(row: UsageRow, price: PriceVersion): boolean {
  const cost = costAt(row, price);
  return cost === undefined ? price.modelId === pricedModelOf(row.deploymentId) : row.cost === 0n || cost === row.cost;
}
