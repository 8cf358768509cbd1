import { defined } from "../defined.ts";
import type { PriceTier, TokenPrices } from "../pricing.ts";
import { scaled } from "./scaled-price.ts";

type Fields = Readonly<Record<string, unknown>>;

const PLACES = 15;
const TIER = /^(?:input|output)_cost_per_token_above_(\d{1,6})k_tokens$/;

/** LiteLLM's prices above a number of input tokens, ascending. A price that a tier lacks is that of the tier below. */
export function configuredTiers(given: Fields, base: TokenPrices): PriceTier[] {
  const thousands = new Set(
    Object.keys(given)
      .flatMap((name) => TIER.exec(name)?.[1] ?? [])
      .map(Number),
  );
  let below = base;
  return [...thousands]
    .sort((left, right) => left - right)
    .flatMap((k) => {
      const above = (name: string) => scaled(given[`${name}_above_${k}k_tokens`], PLACES);
      const [input, output] = [above("input_cost_per_token"), above("output_cost_per_token")];
      if (input === undefined && output === undefined) return [];
      const cached = {
        cachedInput: above("cache_read_input_token_cost"),
        cacheWrite: above("cache_creation_input_token_cost"),
        cacheWriteHour: above("cache_creation_input_token_cost_above_1hr"),
      };
      below = { ...below, ...defined({ input, output, ...cached }) };
      return [{ ...below, aboveInputTokens: k * 1000 }];
    });
}
