import { type NanoUsd, nanoUsd, PRICE_UNITS } from "../../common/money.ts";
import { NO_USAGE, type Usage } from "./usage.ts";

/** Nano-USD per 1,000,000 tokens; a class without a price of its own costs what its kind costs. */
export interface Prices {
  readonly input: bigint;
  readonly output: bigint;
  readonly cachedInput?: bigint | undefined;
  readonly cacheWrite?: bigint | undefined;
}

/** What a call costs: the one function that prices reservation and settlement alike. Rounded up once, at the end. */
export function cost(usage: Usage, prices: Prices): NanoUsd {
  return nanoUsd((unrounded(usage, prices) + PRICE_UNITS - 1n) / PRICE_UNITS);
}

/** The most a call can cost: whatever class its input turns out to be in. */
export function worstCaseCost(tokens: { input: number; output: number }, prices: Prices): NanoUsd {
  const output = { ...NO_USAGE, output: tokens.output };
  const cases = [
    cost({ ...output, input: tokens.input }, prices),
    cost({ ...output, cachedInput: tokens.input }, prices),
    cost({ ...output, cacheWrite: tokens.input }, prices),
  ];
  return cases.reduce((most, each) => (each > most ? each : most));
}

/** How many output tokens a reserved amount pays for after the input, at least one; undefined when output is free. */
export function affordableOutput(reserved: bigint, inputTokens: number, prices: Prices): number | undefined {
  if (prices.output <= 0n) return undefined;
  const left = reserved * PRICE_UNITS - unrounded({ ...NO_USAGE, input: inputTokens }, prices);
  const tokens = left / prices.output;
  return tokens < 1n ? 1 : Number(tokens < MOST ? tokens : MOST);
}

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

/** In nano-USD × 1,000,000: exact, and therefore additive. */
export function unrounded(usage: Usage, prices: Prices): bigint {
  return (
    BigInt(usage.input) * prices.input +
    BigInt(usage.cachedInput) * (prices.cachedInput ?? prices.input) +
    BigInt(usage.cacheWrite) * (prices.cacheWrite ?? prices.input) +
    BigInt(usage.output + usage.reasoning) * prices.output
  );
}
