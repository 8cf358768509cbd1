const NANO_DIGITS = 9;
const NANO_PER_USD = 1_000_000_000n;

/** Exact nano-USD from the decimal `…Usd` string of the API. */
export function nanoOf(usd: string): bigint {
  const [whole = "0", fraction = ""] = usd.replace("-", "").split(".");
  const nano = BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(NANO_DIGITS, "0").slice(0, NANO_DIGITS));
  return usd.startsWith("-") ? -nano : nano;
}

/** For charts, where a double is exact enough. */
export const usdNumber = (usd: string): number => Number(usd);

/** Two decimals for large amounts, more for small ones, so that the cost of a single call is never rounded to zero. */
export function formatUsd(usd: string): string {
  const nano = nanoOf(usd);
  const size = nano < 0n ? -nano : nano;
  const sign = nano < 0n ? "−" : "";
  if (size === 0n || size >= NANO_PER_USD / 10n) return `${sign}$${grouped(size, 2)}`;
  const digits = size >= 1_000_000n ? 4 : size >= 1_000n ? 6 : NANO_DIGITS;
  return `${sign}$${grouped(size, digits)}`;
}

export function formatNano(usd: string): string {
  return `${nanoOf(usd).toLocaleString("en-US")} nano-USD`;
}

/** Parses a typed amount such as "12.50"; undefined if it is not valid. */
export function readUsd(text: string): string | undefined {
  const trimmed = text.trim();
  return /^\d{1,9}(\.\d{1,9})?$/.test(trimmed) && nanoOf(trimmed) > 0n ? trimmed : undefined;
}

/** Nano-USD as a number from a typed amount in USD. */
export function nanoNumber(usd: string): number {
  return Number(nanoOf(usd));
}

/** The decimal string of nano-USD for fields without a `…Usd` sibling, such as limits. */
export const usdOf = (nano: number): string => usdOfNano(BigInt(Math.round(nano)));

/** The decimal string of a bigint sum, which may exceed what a double holds. */
export function usdOfNano(exact: bigint): string {
  const size = exact < 0n ? -exact : exact;
  const fraction = (size % NANO_PER_USD).toString().padStart(NANO_DIGITS, "0").replace(/0+$/, "");
  return `${exact < 0n ? "-" : ""}${size / NANO_PER_USD}${fraction === "" ? "" : `.${fraction}`}`;
}

function grouped(size: bigint, digits: number): string {
  const unit = 10n ** BigInt(NANO_DIGITS - digits);
  const rounded = (size + unit / 2n) / unit;
  const scale = 10n ** BigInt(digits);
  return `${(rounded / scale).toLocaleString("en-US")}.${(rounded % scale).toString().padStart(digits, "0")}`;
}
