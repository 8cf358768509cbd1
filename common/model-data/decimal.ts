const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;
const EXPONENT_MAX = 400;

/**
 * `value` × 10^`places` as an integer, computed on the decimal digits to avoid floating-point errors. A JavaScript number is read as
 * the shortest decimal that parses to it, which is what its author wrote. Fractions are rounded to the nearest integer, halves up.
 * Undefined if the value is not a decimal number.
 */
export function scaleDecimal(value: string | number, places: number): bigint | undefined {
  const match = DECIMAL.exec(String(value).trim());
  if (!match) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const digits = whole + fraction;
  if (digits === "") return undefined;
  const shift = Number(exponent) - fraction.length + places;
  if (Math.abs(shift) > EXPONENT_MAX) return undefined;
  const amount = shift >= 0 ? BigInt(digits) * 10n ** BigInt(shift) : roundedQuotient(BigInt(digits), 10n ** BigInt(-shift));
  return sign === "-" ? -amount : amount;
}

function roundedQuotient(amount: bigint, divisor: bigint): bigint {
  return (2n * amount + divisor) / (2n * divisor);
}

/** USD for a million as nano-USD for a million. */
export const nanoPerMillionFromMillion = (usd: string | number): bigint | undefined => scaleDecimal(usd, 9);
