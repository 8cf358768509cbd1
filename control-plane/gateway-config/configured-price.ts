import { scaleDecimal } from "../../common/model-data/decimal.ts";
import type { ModelData } from "../../common/model-data/model-data.ts";
import type { ConfiguredPrice } from "./gateway-config.ts";

type Fields = Readonly<Record<string, unknown>>;

/** How LiteLLM names prices of other units, and the places from USD per unit to nano-USD per million of ours. */
const UNITS = [
  { unit: "token", input: "input_cost_per_token", output: "output_cost_per_token", places: 15 },
  { unit: "character", input: "input_cost_per_character", output: "output_cost_per_character", places: 15 },
  { unit: "millisecond", input: "input_cost_per_second", output: "output_cost_per_second", places: 12 },
  { unit: "image", input: "input_cost_per_image", output: "output_cost_per_image", places: 15 },
  { unit: "query", input: "input_cost_per_query", output: "output_cost_per_query", places: 15 },
] as const;

/**
 * The operator's price for a deployment, else the public one, else none. litellm_params win over model_info, as in LiteLLM. Prices come
 * whole from one side: the list price of cached tokens beside an operator's own input price would be nobody's price.
 */
export function configuredPrice(params: Fields, info: Fields, data: ModelData | undefined): ConfiguredPrice | undefined {
  const given = { ...info, ...params };
  for (const { unit, input, output, places } of UNITS) {
    const [inputPrice, outputPrice] = [scaled(given[input], places), scaled(given[output], places)];
    if (inputPrice === undefined && outputPrice === undefined) continue;
    const cachedInput =
      unit === "token" ? scaled(given["cache_read_input_token_cost"] ?? given["input_cost_per_token_cache_hit"], places) : undefined;
    const cacheWrite = unit === "token" ? scaled(given["cache_creation_input_token_cost"], places) : undefined;
    return {
      unit,
      input: inputPrice ?? 0n,
      output: outputPrice ?? 0n,
      ...(cachedInput !== undefined && { cachedInput }),
      ...(cacheWrite !== undefined && { cacheWrite }),
      source: "config",
    };
  }
  return data?.pricing && { unit: "token", ...data.pricing, source: "data" };
}

/** Whether a key of litellm_params or model_info holds USD. */
export function isPriceName(name: string): boolean {
  return /(^|_)cost(_|$)/.test(name);
}

// An operator's price reaches an int64 of nano-USD per million: a million USD per token does not.
const PRICE_MAX = 2n ** 62n;

function scaled(usd: unknown, places: number): bigint | undefined {
  if (typeof usd !== "number" && typeof usd !== "string") return undefined;
  const amount = scaleDecimal(usd, places);
  return amount !== undefined && amount >= 0n && amount < PRICE_MAX ? amount : undefined;
}
