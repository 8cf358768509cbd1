import { COUNTED_FEES, type FeePrices } from "./fees.ts";
import { type ImagePrices, imagePrice } from "./image-prices.ts";
import { type NanoUsd, nanoUsd, UNITS_PER_PRICE } from "./money.ts";

/** Tokens of one call in disjoint classes. */
export interface TokenClasses {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  /** Of `cacheWrite`: those that are stored for an hour. */
  readonly cacheWriteHour?: number | undefined;
  readonly output: number;
  readonly reasoning: number;
  readonly audioInput: number;
  readonly audioOutput: number;
}

/** The units that models are priced by; milliseconds are of sound, a call costs the same whatever its length. */
export const PRICE_UNIT_NAMES = ["token", "character", "millisecond", "image", "search", "call"] as const;
export type PriceUnit = (typeof PRICE_UNIT_NAMES)[number];

/** What a call is counted in beside tokens, in the order of rows: units of prices, and what is billed beside the tokens. */
export const AMOUNT_NAMES = ["character", "millisecond", "image", "search", "call", "imageToken", ...COUNTED_FEES] as const;
export type AmountName = (typeof AMOUNT_NAMES)[number];

/** Nano-USD per 1,000,000 tokens; a class without a price of its own costs what its kind costs. */
export interface TokenPrices {
  readonly input: bigint;
  readonly output: bigint;
  readonly cachedInput?: bigint | undefined;
  readonly cacheWrite?: bigint | undefined;
  /** Of cache writes that last an hour; absent: as other cache writes. */
  readonly cacheWriteHour?: bigint | undefined;
}

/** In force for the whole of a call whose input has more tokens than that. */
export interface PriceTier extends TokenPrices {
  readonly aboveInputTokens: number;
}

/** The price of a model, in nano-USD per 1,000,000 units: the one type from a price list or configuration file to the bill. */
export interface Price extends TokenPrices {
  /** Absent: tokens. */
  readonly unit?: PriceUnit | undefined;
  /** Of tokens of sound; absent: as other tokens. */
  readonly audioInput?: bigint | undefined;
  readonly audioOutput?: bigint | undefined;
  /** Of web searches that the provider runs, beside the tokens; absent: it has no price, so calls with that tool are refused. */
  readonly webSearch?: bigint | undefined;
  /** Of what else the provider bills beside the tokens; what has no price here is refused. */
  readonly fees?: FeePrices | undefined;
  /** Of tokens only, ascending: the last one that the input exceeds is in force for the whole call. */
  readonly tiers?: readonly PriceTier[] | undefined;
  /** Of images only: output by size and quality; what is not among them costs `output`. */
  readonly images?: ImagePrices | undefined;
}

/** A price as messages carry it: an optional list or map has to be a message of its own there. */
export interface PriceMessage extends Omit<Price, "tiers" | "images"> {
  readonly tiers?: { readonly tiers: readonly PriceTier[] } | undefined;
  readonly images?: { readonly prices: ImagePrices } | undefined;
}

export function priceMessage(price: Price): PriceMessage {
  return { ...price, tiers: price.tiers && { tiers: price.tiers }, images: price.images && { prices: price.images } };
}

/**
 * The cost of tokens in nano-USD × 1,000,000, which is exact and therefore additive. The edge bills with this function, and verification
 * uses the same one.
 */
export function unroundedTokenCost(tokens: TokenClasses, rates: Omit<Price, "tiers" | "images">): bigint {
  return (
    product(tokens.input, rates.input) +
    product(tokens.output + tokens.reasoning, rates.output) +
    product(tokens.cachedInput, rates.cachedInput ?? rates.input) +
    cacheWriteCost(tokens, rates) +
    product(tokens.audioInput, rates.audioInput ?? rates.input) +
    product(tokens.audioOutput, rates.audioOutput ?? rates.output)
  );
}

function cacheWriteCost({ cacheWrite, cacheWriteHour = 0 }: TokenClasses, rates: TokenPrices): bigint {
  const rate = rates.cacheWrite ?? rates.input;
  return product(cacheWrite - cacheWriteHour, rate) + product(cacheWriteHour, rates.cacheWriteHour ?? rate);
}

/** Skips empty classes, because most are empty and a bigint multiplication is not free. */
function product(tokens: number, rate: bigint): bigint {
  return tokens === 0 ? 0n : BigInt(tokens) * rate;
}

/**
 * The maximum cost of one call, about 9 million USD. Amounts are int64 in messages and in the store, and numbers in JSON, so the cost is
 * bounded here, and no number from a caller or an upstream can overflow them.
 */
const CALL_COST_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** Rounds up, once, at the end. */
export function roundedUp(unrounded: bigint): NanoUsd {
  const rounded = (unrounded + UNITS_PER_PRICE - 1n) / UNITS_PER_PRICE;
  return nanoUsd(rounded < CALL_COST_MAX ? rounded : CALL_COST_MAX);
}

/** What decides which of a model's prices hold for a call. */
export interface RatedCall {
  readonly inputTokens: number;
  /** The size and quality of its images. */
  readonly image?: string | undefined;
}

/**
 * The prices of one call. The highest tier that the input exceeds holds for all of it; its classes are its own, tiers ascend. Images cost
 * what their size and quality cost.
 */
export function ratesAt<Rates extends TokenPrices>(
  rates: Rates,
  { tiers = [], images }: Pick<Price, "tiers" | "images">,
  { inputTokens, image }: RatedCall,
): Rates {
  if (images) return { ...rates, output: imagePrice({ output: rates.output, images }, image) };
  const tier = tiers.findLast(({ aboveInputTokens }) => inputTokens > aboveInputTokens);
  return tier ? { ...rates, cachedInput: undefined, cacheWrite: undefined, cacheWriteHour: undefined, ...tier } : rates;
}
