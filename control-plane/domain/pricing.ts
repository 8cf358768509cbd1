import type { PriceVersion } from "./records.ts";

/** The price in force: the version with the latest effective time that is not in the future. Versions come in any order. */
export function priceAt(prices: readonly PriceVersion[], now: number): PriceVersion | undefined {
  let found: PriceVersion | undefined;
  for (const price of prices) {
    if (price.effectiveAt > now) continue;
    if (!found || price.effectiveAt > found.effectiveAt || (price.effectiveAt === found.effectiveAt && price.version > found.version)) {
      found = price;
    }
  }
  return found;
}
