import { unroundedFeeCost } from "../../../common/fees.ts";
import { type NanoUsd, UNITS_PER_PRICE } from "../../../common/money.ts";
import { type Price, roundedUp, unroundedTokenCost } from "../../../common/pricing.ts";
import type { Amounts } from "../../upstream/providers/provider.ts";
import { NO_USAGE, totalTokens, type Usage } from "./usage.ts";

/** The price of one call: the tier, or the size of its images, that holds for it is chosen. */
export type Prices = Omit<Price, "tiers" | "images">;

/** The most a call can use, in every unit that it can be counted in. */
export interface Most {
  readonly input: number;
  readonly output: number;
  readonly amounts?: Amounts | undefined;
}

/** What a call costs: the one function that prices reservation and settlement alike. Rounded up once, at the end. */
export function cost(usage: Usage, prices: Prices): NanoUsd {
  return roundedUp(unrounded(usage, prices));
}

/** The most a call can cost, whatever classes its input and output turn out to be in. */
export function worstCaseCost({ input, output, amounts = {} }: Most, prices: Prices): NanoUsd {
  if (prices.unit === "call") return cost({ ...NO_USAGE, input: 1 }, prices);
  if (prices.unit !== undefined && prices.unit !== "token") return cost({ ...NO_USAGE, amounts }, prices);
  if (last?.prices !== prices) last = { prices, dearest: dearestClasses(prices) };
  return cost({ ...NO_USAGE, input, output, amounts }, last.dearest);
}

/** Of the last price: a model's is the same object until it changes, and most calls follow one of the same model. */
let last: { readonly prices: Prices; readonly dearest: Prices } | undefined;

function dearestClasses(prices: Prices): Prices {
  const { webSearch, fees } = prices;
  const input = highest(prices.input, prices.cachedInput, prices.cacheWrite, prices.cacheWriteHour, prices.audioInput, fees?.imageInput);
  return { input, output: highest(prices.output, prices.audioOutput, fees?.imageOutput), webSearch, fees };
}

function highest(...prices: readonly (bigint | undefined)[]): bigint {
  return prices.reduce<bigint>((most, price) => (price !== undefined && price > most ? price : most), 0n);
}

/** How many output tokens a reserved amount pays for after the input, at least one; undefined when output is free. */
export function affordableOutput(reserved: bigint, inputTokens: number, prices: Prices): number | undefined {
  if (prices.output <= 0n || (prices.unit !== undefined && prices.unit !== "token")) return undefined;
  const left = reserved * UNITS_PER_PRICE - unrounded({ ...NO_USAGE, input: inputTokens }, prices);
  const tokens = left / prices.output;
  return tokens < 1n ? 1 : Number(tokens < MOST ? tokens : MOST);
}

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

/** In nano-USD × 1,000,000: exact, and therefore additive. */
export function unrounded(usage: Usage, prices: Prices): bigint {
  const { unit } = prices;
  // Without a token in or out there was no answer and nothing to bill.
  if (unit === "call") return totalTokens(usage) > 0 ? prices.input : 0n;
  if (unit !== undefined && unit !== "token") {
    const { input, output } = usage.amounts?.[unit] ?? { input: 0, output: 0 };
    return BigInt(input) * prices.input + BigInt(output) * prices.output;
  }
  const tokens = unroundedTokenCost(usage, prices);
  return usage.amounts === undefined ? tokens : tokens + unroundedFeeCost(usage.amounts, prices);
}
