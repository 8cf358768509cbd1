import { FEE_NAMES, FEES, type FeePrices } from "../../../../common/fees.ts";
import type { ImagePrices } from "../../../../common/image-prices.ts";
import { IMAGES_SETTING } from "../../../../common/model-data/configured-price.ts";
import { findModelData } from "../../../../common/model-data/model-data.ts";
import type { Price, PriceTier } from "../../../../common/pricing.ts";
import { findKind, kindOfPrefix, supportedParams } from "../../../../common/providers/shared/registry.ts";
import type { Deployment } from "../../../../proto/gen/tributary/access/v1/access.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { readFields } from "../../../upstream/routing/lenient.ts";

export type Source = "config" | "catalog" | "data";

/** The known properties of a deployment's model under LiteLLM's names, and where each value comes from. */
export interface ModelFacts {
  readonly values: Fields;
  readonly source: Readonly<Record<string, Source>>;
}

/** The `supports_...` fields that are always present; others appear only if configured. */
export const SUPPORTS = [
  "supports_system_messages",
  "supports_function_calling",
  "supports_parallel_function_calling",
  "supports_tool_choice",
  "supports_response_schema",
  "supports_vision",
  "supports_pdf_input",
  "supports_audio_input",
  "supports_audio_output",
  "supports_prompt_caching",
  "supports_reasoning",
  "supports_web_search",
] as const;

const UNKNOWN: Fields = {
  mode: null,
  max_tokens: null,
  max_input_tokens: null,
  max_output_tokens: null,
  input_cost_per_token: null,
  output_cost_per_token: null,
  ...Object.fromEntries(SUPPORTS.map((name) => [name, false])),
};

/**
 * Configuration wins over catalog, and catalog over public data. Prices are the exception: they are the catalog's, because those are
 * billed.
 */
export function modelFacts(deployment: Deployment): ModelFacts {
  const params = readFields(deployment.params);
  const costs = Object.entries(params).filter(([name]) => /_cost_per_/.test(name));
  const config: Fields = { ...Object.fromEntries(costs), ...readFields(deployment.info) };
  const data = dataFacts(deployment, config["base_model"]);
  const catalog = catalogFacts(deployment, data);
  const billed = Object.fromEntries(Object.entries(catalog).filter(([name]) => /_cost_per_/.test(name)));
  const layers: readonly (readonly [Source, Fields])[] = [
    ["data", data],
    ["catalog", catalog],
    ["config", config],
    ["catalog", billed],
  ];
  const values: Record<string, unknown> = { ...UNKNOWN };
  const source: Record<string, Source> = {};
  for (const [name, fields] of layers) {
    for (const [field, value] of Object.entries(fields)) {
      if (value === undefined || value === null) continue;
      // The billed price equals the configured one: the source stays the configuration.
      if (field in source && sameAmount(values[field], value)) continue;
      values[field] = value;
      source[field] = name;
    }
  }
  return { values, source };
}

/** LiteLLM's name of the provider: the prefix of its models. */
export function providerName({ providerKind, params }: Deployment): string {
  const own = readFields(params)["custom_llm_provider"];
  if (typeof own === "string" && own !== "") return own;
  return findKind(providerKind)?.prefixes[0] ?? providerKind;
}

/** The OpenAI parameters that a deployment's model supports, for its mode. */
export function paramsOfDeployment({ providerKind, inferenceModelId, model }: Deployment, mode: unknown): readonly string[] {
  const params = supportedParams(providerKind, { mode, model: inferenceModelId });
  return params.length > 0 ? params : (model?.supportedParams ?? []);
}

function dataFacts({ providerKind, inferenceModelId, model: known }: Deployment, baseModel: unknown): Fields {
  const [kind, model] = typeof baseModel === "string" ? readBaseModel(baseModel, providerKind) : [providerKind, inferenceModelId];
  const data = findModelData({ kind, model });
  if (!data) return {};
  return {
    mode: modeOf(data.mode),
    ...limits(data),
    ...prices(data.pricing),
    // A configured price has its own tiers, so public tiers do not apply.
    ...(known?.pricing ? {} : tierPrices(data?.pricing?.tiers)),
    ...Object.fromEntries(data.capabilities.map((name) => [`supports_${name}`, true])),
  };
}

/** `azure/gpt-4o`, or the bare name at the deployment's own provider. */
function readBaseModel(name: string, providerKind: string): [kind: string, model: string] {
  const slash = name.indexOf("/");
  const kind = slash < 0 ? undefined : kindOfPrefix(name.slice(0, slash))?.kind;
  return kind ? [kind, name.slice(slash + 1)] : [providerKind, name];
}

function catalogFacts({ model }: Deployment, data: Fields): Fields {
  if (!model) return {};
  // A wildcard entry covers models of any mode; public data has the mode of this model.
  const isVague = model.name.includes("*") && data["mode"] !== undefined;
  return {
    mode: isVague || model.type === "" ? undefined : modeOf(model.type),
    ...limits(model),
    ...prices(model.pricing),
    ...tierPrices(model.pricing?.tiers?.tiers),
    ...sizePrices(model.pricing?.images?.prices),
    ...Object.fromEntries(model.capabilities.map((name) => [`supports_${name}`, true])),
  };
}

function modeOf(type: string): string {
  return type === "image" ? "image_generation" : type;
}

function limits({ contextWindow, maxOutputTokens }: { contextWindow?: number | undefined; maxOutputTokens?: number | undefined }): Fields {
  return { max_tokens: maxOutputTokens, max_input_tokens: contextWindow, max_output_tokens: maxOutputTokens };
}

/** Tiers under LiteLLM's names: `..._above_200k_tokens`. */
function tierPrices(tiers: readonly PriceTier[] = []): Fields {
  const named = tiers.flatMap(({ aboveInputTokens, ...tier }) =>
    Object.entries(prices(tier)).map(([name, price]) => [`${name}_above_${aboveInputTokens / 1000}k_tokens`, price]),
  );
  return Object.fromEntries(named);
}

/** Images by size, as the configuration file sets them. */
function sizePrices(images: ImagePrices | undefined): Fields {
  if (!images) return {};
  return { [IMAGES_SETTING]: Object.fromEntries(Object.entries(images).map(([name, price]) => [name, Number(price) / 1e15])) };
}

/** LiteLLM's names of prices by other units, and the number of our units per LiteLLM unit. */
const OTHER_UNITS: Readonly<Record<string, { readonly name: string; readonly units: number }>> = {
  character: { name: "character", units: 1 },
  millisecond: { name: "second", units: 1000 },
  image: { name: "image", units: 1 },
  search: { name: "query", units: 1 },
};

function prices(pricing: (Omit<Price, "unit" | "tiers" | "images"> & { readonly unit?: string | undefined }) | undefined): Fields {
  const { unit = "token", input = 0n, output = 0n } = pricing ?? {};
  const other = OTHER_UNITS[unit];
  if (other) {
    const usd = (price: bigint) => (price === 0n ? undefined : (Number(price) * other.units) / 1e15);
    return { [`input_cost_per_${other.name}`]: usd(input), [`output_cost_per_${other.name}`]: usd(output) };
  }
  // LiteLLM has no field for a price per call.
  if (unit === "call") return {};
  return {
    input_cost_per_token: usdPerToken(pricing?.input),
    output_cost_per_token: usdPerToken(pricing?.output),
    cache_read_input_token_cost: usdPerToken(pricing?.cachedInput),
    cache_creation_input_token_cost: usdPerToken(pricing?.cacheWrite),
    cache_creation_input_token_cost_above_1hr: usdPerToken(pricing?.cacheWriteHour),
    search_context_cost_per_query: usdPerToken(pricing?.webSearch),
    ...feePrices(pricing?.fees),
    input_cost_per_audio_token: usdPerToken(pricing?.audioInput),
    output_cost_per_audio_token: usdPerToken(pricing?.audioOutput),
  };
}

/** Under the names by which the configuration file sets them; prices by the size of a search context have none at the top. */
function feePrices(fees: FeePrices = {}): Fields {
  const named = FEE_NAMES.filter((name) => !name.startsWith("request") && fees[name] !== undefined);
  return Object.fromEntries(named.map((name) => [FEES[name].setting, (usdPerToken(fees[name]) ?? 0) * FEES[name].per]));
}

/** Nano-USD per million tokens as USD per token: a float for display, never for billing. */
function usdPerToken(price: bigint | undefined): number | undefined {
  return price === undefined ? undefined : Number(price) / 1e15;
}

function sameAmount(known: unknown, value: unknown): boolean {
  return known === value || (typeof value === "number" && Number(known) === value && typeof known === "number");
}
