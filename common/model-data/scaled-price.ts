import { scaleDecimal } from "./decimal.ts";

// Prices are int64 nano-USD per million on the wire; a million USD per token does not fit.
const PRICE_MAX = 2n ** 62n;

/** A USD amount shifted by decimal places; undefined if it is not a valid price. */
export function scaled(usd: unknown, places: number): bigint | undefined {
  if (typeof usd !== "number" && typeof usd !== "string") return undefined;
  const amount = scaleDecimal(usd, places);
  return amount !== undefined && amount >= 0n && amount < PRICE_MAX ? amount : undefined;
}
