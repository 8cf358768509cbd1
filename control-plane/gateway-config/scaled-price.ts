import { scaleDecimal } from "../../common/model-data/decimal.ts";

// An operator's price reaches an int64 of nano-USD per million: a million USD per token does not.
const PRICE_MAX = 2n ** 62n;

/** An operator's USD, shifted by so many places; undefined where it is no price. */
export function scaled(usd: unknown, places: number): bigint | undefined {
  if (typeof usd !== "number" && typeof usd !== "string") return undefined;
  const amount = scaleDecimal(usd, places);
  return amount !== undefined && amount >= 0n && amount < PRICE_MAX ? amount : undefined;
}
