import { FEE_NAMES, type FeePrices } from "../../../common/fees.ts";
import { withListFees } from "../../../common/model-data/list-fees.ts";
import { findModelData } from "../../../common/model-data/model-data.ts";
import { familyOf } from "../../../common/model-data/model-families.ts";
import { supportedParams } from "../../../common/providers/shared/registry.ts";
import type { Fees, Model as ModelMessage, Pricing, Provider as ProviderMessage } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { priceAt } from "../../domain/pricing.ts";
import { rateLimitsOf } from "../../domain/rate-limits.ts";
import type { Model, PriceVersion, Provider } from "../../domain/records.ts";
import { collect } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import { budgetMessage, date } from "../messages.ts";

export async function modelMessage(reader: Reader, model: Model, now: number): Promise<ModelMessage> {
  const [provider, budget, prices] = await Promise.all([
    reader.get("providers", model.providerId),
    budgetMessage(reader, { kind: "model", id: model.id, record: model, now }),
    collect(reader.scan("prices", { index: "byModel", equals: [model.id] })),
  ]);
  const kind = provider?.kind ?? "";
  return {
    id: model.id,
    name: model.name,
    providerId: model.providerId,
    providerName: provider?.name ?? "",
    type: model.type,
    description: model.description,
    contextWindow: model.contextWindow,
    maxOutputTokens: model.maxOutputTokens,
    pricing: pricingMessage(withFees(priceAt(prices, now), kind)),
    capabilities: [...capabilitiesOf(kind, model.inferenceModelId)],
    supportedParams: [...supportedParams(kind, { mode: model.type, model: model.inferenceModelId })],
    status: model.status,
    createdAt: date(model.createdAt),
    updatedAt: date(model.updatedAt),
    limits: rateLimitsOf(model),
    budget,
    source: "catalog",
    inferenceModelId: model.inferenceModelId,
  };
}

export async function providerMessage(reader: Reader, provider: Provider): Promise<ProviderMessage> {
  return {
    id: provider.id,
    name: provider.name,
    kind: provider.kind,
    // The echo provider lives in the edge itself; whether others answer is known once edges report it.
    status: provider.kind === "echo" ? "up" : "unknown",
    modelCount: await reader.count("models", { index: "byProvider", equals: [provider.id] }),
    source: "catalog",
  };
}

function capabilitiesOf(kind: string, inferenceModelId: string): readonly string[] {
  return (findModelData({ kind, model: inferenceModelId }) ?? familyOf(inferenceModelId)).capabilities;
}

function withFees(price: PriceVersion | undefined, kind: string): PriceVersion | undefined {
  return price && withListFees(price, kind);
}

export function pricingMessage(price: PriceVersion | undefined): Pricing | undefined {
  return (
    price && {
      version: price.version,
      effectiveAt: date(price.effectiveAt),
      unit: price.unit,
      input: price.input,
      output: price.output,
      cachedInput: price.cachedInput,
      cacheWrite: price.cacheWrite,
      audioInput: price.audioInput,
      audioOutput: price.audioOutput,
      cacheWriteHour: price.cacheWriteHour,
      webSearch: price.webSearch,
      fees: price.fees && feesMessage(price.fees),
      images: price.images && { prices: price.images },
      tiers: price.tiers && { tiers: price.tiers.map((tier) => ({ cacheWriteHour: undefined, ...tier })) },
    }
  );
}

/** Every fee by name: a message has all of its fields. */
function feesMessage(fees: FeePrices): Fees {
  return Object.fromEntries(FEE_NAMES.map((name) => [name, fees[name]])) as unknown as Fees;
}
