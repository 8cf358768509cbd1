import { dearestImagePrice } from "../../../common/image-prices.ts";
import { type PriceMessage, type PriceTier, type RatedCall, ratesAt } from "../../../common/pricing.ts";
import type { Prices } from "./price.ts";

/**
 * How far a provider's count may exceed ours, in percent: the gateway counts without the provider's vocabulary. A tier within that range is
 * reserved for.
 */
const REACH_PERCENT = 150;

/** What is billed: the highest tier that the input exceeds holds for the whole call, and images cost what their size and quality cost. */
export function pricesAt(prices: PriceMessage, call: RatedCall): Prices {
  return ratesAt<Prices>(prices, { tiers: prices.tiers?.tiers, images: prices.images?.prices }, call);
}

/** What is reserved: for every class the highest price of all tiers that the input can reach, and of all images that the request can get. */
export function dearestPrices(prices: PriceMessage, { inputTokens, image }: RatedCall): Prices {
  if (prices.images) return { ...prices, output: dearestImagePrice({ output: prices.output, images: prices.images.prices }, image) };
  if (prices.tiers === undefined) return prices;
  const reachable = prices.tiers.tiers.filter(({ aboveInputTokens }) => inputTokens * REACH_PERCENT > aboveInputTokens * 100);
  return reachable.reduce<Prices>((found, tier) => dearer(found, tier), prices);
}

function dearer(left: Prices, right: PriceTier): Prices {
  return {
    ...left,
    input: highest(left.input, right.input),
    output: highest(left.output, right.output),
    // A class without its own price costs what its kind costs.
    cachedInput: highest(left.cachedInput ?? left.input, right.cachedInput ?? right.input),
    cacheWrite: highest(left.cacheWrite ?? left.input, right.cacheWrite ?? right.input),
    cacheWriteHour: highest(hourOf(left), hourOf(right)),
  };
}

function hourOf({ input, cacheWrite, cacheWriteHour }: Pick<Prices, "input" | "cacheWrite" | "cacheWriteHour">): bigint {
  return cacheWriteHour ?? cacheWrite ?? input;
}

function highest(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
