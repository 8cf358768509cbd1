/** Integer nano-USD. 1 USD = 1,000,000,000 nano-USD. A bigint with a brand: never a number, never a float. */
export type NanoUsd = bigint & { readonly __unit: "nano-usd" };

const NANO_PER_USD = 1_000_000_000n;
const NANO_PLACES = 9;
/** Decimal places of costs before rounding, which are nano-USD × 1,000,000. */
export const UNROUNDED_PLACES = 15;

/** Prices are whole nano-USD per this many units (tokens, characters, images, milliseconds). */
export const UNITS_PER_PRICE = 1_000_000n;

export function nanoUsd(amount: bigint): NanoUsd {
  return amount as NanoUsd;
}

const INT64_MAX = 2n ** 63n - 1n;

/** Clamps a sum of amounts to the largest int64, so that it fits a message. */
export function withinInt64(amount: bigint): bigint {
  return amount < INT64_MAX ? amount : INT64_MAX;
}

/** The exact decimal string of an amount, at least two places: -1500000000n → "-1.50", 1n → "0.000000001". */
export function toUsdString(amount: bigint): string {
  return decimalUsd(amount, NANO_PLACES);
}

const ZERO = 48;

/** An amount that is counted in another unit than nano-USD, by its decimal places. */
export function decimalUsd(amount: bigint, places: number): string {
  const sign = amount < 0n ? "-" : "";
  // By its digits, because a division of bigints costs more than all of this.
  const digits = (amount < 0n ? -amount : amount).toString().padStart(places + 1, "0");
  const point = digits.length - places;
  let end = digits.length;
  while (end > point + 2 && digits.charCodeAt(end - 1) === ZERO) end--;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point, end)}`;
}

/** Parses a decimal USD string or number with at most nine decimals; undefined otherwise. */
export function fromUsd(value: string | number): NanoUsd | undefined {
  const text = typeof value === "number" ? plainDecimal(value) : value.trim();
  const match = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text);
  if (!match) return undefined;
  const [, sign, whole, fraction] = match;
  const amount = BigInt(whole ?? "0") * NANO_PER_USD + BigInt((fraction ?? "").padEnd(9, "0") || "0");
  return nanoUsd(sign === "-" ? -amount : amount);
}

// JavaScript writes numbers below a millionth with an exponent: 1e-7. Only values that nine decimals represent exactly are accepted.
function plainDecimal(value: number): string {
  const places = value.toFixed(9);
  return Number(places) === value ? places.replace(/\.?0+$/, "") : value.toString();
}
