import { type NanoUsd, nanoUsd, PRICE_UNITS } from "./money.ts";

/** Tokens of one call in disjoint classes. */
export interface TokenClasses {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
  readonly audioInput: number;
  readonly audioOutput: number;
}

/** Nano-USD per 1,000,000 tokens; a class without a price of its own costs what its kind costs. */
export interface TokenRates {
  readonly input: bigint;
  readonly output: bigint;
  readonly cachedInput?: bigint | undefined;
  readonly cacheWrite?: bigint | undefined;
  readonly audioInput?: bigint | undefined;
  readonly audioOutput?: bigint | undefined;
}

/** In force for the whole of a call whose input has more tokens than that. */
export interface RateTier {
  readonly aboveInputTokens: number;
  readonly input: bigint;
  readonly output: bigint;
  readonly cachedInput?: bigint | undefined;
  readonly cacheWrite?: bigint | undefined;
}

/**
 * What tokens cost, in nano-USD × 1,000,000: exact, and therefore additive. The one place where tokens meet prices: the edge bills with
 * it, and whoever checks a bill later, checks with the same.
 */
export function unroundedTokenCost(tokens: TokenClasses, rates: TokenRates): bigint {
  return (
    product(tokens.input, rates.input) +
    product(tokens.output + tokens.reasoning, rates.output) +
    product(tokens.cachedInput, rates.cachedInput ?? rates.input) +
    product(tokens.cacheWrite, rates.cacheWrite ?? rates.input) +
    product(tokens.audioInput, rates.audioInput ?? rates.input) +
    product(tokens.audioOutput, rates.audioOutput ?? rates.output)
  );
}

/** Most classes of most calls are empty: a bigint made for nothing costs as much as one that counts. */
function product(tokens: number, rate: bigint): bigint {
  return tokens === 0 ? 0n : BigInt(tokens) * rate;
}

/**
 * The most that one call costs or may cost, some 9 million USD. Amounts are int64 in messages and in the store, and numbers in JSON: the
 * price of a call is bounded here, where it is made, so that no number that a caller or an upstream sends can exceed either.
 */
const CALL_COST_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** Rounded up, once, at the end. */
export function roundedUp(unrounded: bigint): NanoUsd {
  const rounded = (unrounded + PRICE_UNITS - 1n) / PRICE_UNITS;
  return nanoUsd(rounded < CALL_COST_MAX ? rounded : CALL_COST_MAX);
}

/** The highest tier that the input exceeds holds for the whole call; its classes are its own. Tiers ascend. */
export function ratesAt<Rates extends TokenRates>(rates: Rates, tiers: readonly RateTier[], inputTokens: number): TokenRates & Rates {
  const tier = tiers.findLast(({ aboveInputTokens }) => inputTokens > aboveInputTokens);
  return tier ? { ...rates, cachedInput: undefined, cacheWrite: undefined, ...tier } : rates;
}
