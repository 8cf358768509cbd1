import { ratesAt, roundedUp, type TokenClasses, type TokenRates, unroundedTokenCost } from "../../common/token-cost.ts";
import type { Price, UsageRow } from "./records.ts";

/** A price as far as it can price a row; an admin's version or the configuration file's. */
export type TokenPrice = Pick<Price, "unit" | "tiers"> & TokenRates;

/** What the call costs at a price, by the function that edges bill with; undefined where the row does not hold what is paid for. */
export function costAt(row: Pick<UsageRow, "usage">, price: TokenPrice): bigint | undefined {
  const tokens = tokensOf(row);
  if (!tokens || price.unit !== "token") return undefined;
  return roundedUp(unroundedTokenCost(tokens, ratesOf(row, price)));
}

/** The prices that held for this call: those of its tier. */
export function ratesOf({ usage }: Pick<UsageRow, "usage">, price: TokenPrice): TokenRates {
  return ratesAt(price, price.tiers ?? [], usage.input + usage.cachedInput + usage.cacheWrite);
}

/** The tokens of a call; undefined where a row does not tell its classes apart: input of sound from output of it. */
function tokensOf({ usage }: Pick<UsageRow, "usage">): TokenClasses | undefined {
  if (usage.audio > 0) return undefined;
  const { input, cachedInput, cacheWrite, output, reasoning } = usage;
  return { input, cachedInput, cacheWrite, output, reasoning, audioInput: 0, audioOutput: 0 };
}
