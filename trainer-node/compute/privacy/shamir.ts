/** A share of a secret (Shamir 1979 over GF(2^8), byte by byte): any `threshold` shares give the secret, fewer reveal nothing about it. */
export interface Share {
  /** The point at which the polynomial was evaluated, 1 to 255. */
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** Options of splitting a secret. */
export interface SplitOptions {
  readonly shares: number;
  readonly threshold: number;
  /** The system's secure random source. */
  readonly randomBytes: (count: number) => Uint8Array;
}

const SHARES_MAX = 255;
/** x^8 + x^4 + x^3 + x + 1, as in AES. */
const POLYNOMIAL = 0x11b;

/** Splits a secret into shares. */
export function splitSecret(secret: Uint8Array, { shares, threshold, randomBytes }: SplitOptions): Share[] {
  if (!(Number.isInteger(shares) && shares >= 1 && shares <= SHARES_MAX))
    throw new RangeError(`there are 1 to ${SHARES_MAX} shares, not ${shares}`);
  if (!(Number.isInteger(threshold) && threshold >= 1 && threshold <= shares))
    throw new RangeError(`a threshold is 1 to the number of shares, ${shares}, not ${threshold}`);
  const coefficients = Array.from({ length: threshold - 1 }, () => randomBytes(secret.byteLength));
  return Array.from({ length: shares }, (_, index) => {
    const at = index + 1;
    const bytes = Uint8Array.from(
      secret,
      (constant, place) =>
        // Horner's rule, from the highest power down.
        coefficients.reduceRight((sum, coefficient) => multiply(sum ^ (coefficient[place] as number), at), 0) ^ constant,
    );
    return { at, bytes };
  });
}

/** The secret: the value at 0 of the polynomial through the shares. Fewer shares than the threshold give a wrong secret, not an error. */
export function joinShares(shares: readonly Share[]): Uint8Array<ArrayBuffer> {
  const [first] = shares;
  if (!first) throw new RangeError("a secret needs a share");
  if (new Set(shares.map(({ at }) => at)).size !== shares.length) throw new RangeError("two shares are of the same place");
  if (shares.some(({ bytes }) => bytes.byteLength !== first.bytes.byteLength)) throw new RangeError("the shares differ in length");
  const factors = shares.map(({ at }) =>
    shares.reduce((product, other) => (other.at === at ? product : multiply(product, divide(other.at, other.at ^ at))), 1),
  );
  return Uint8Array.from(first.bytes, (_, place) =>
    shares.reduce((sum, { bytes }, index) => sum ^ multiply(bytes[place] as number, factors[index] as number), 0),
  );
}

function multiply(left: number, right: number): number {
  let [product, shifted] = [0, left];
  for (let bit = 0; bit < 8; bit++) {
    if ((right >> bit) & 1) product ^= shifted;
    shifted <<= 1;
    if (shifted & 0x100) shifted ^= POLYNOMIAL;
  }
  return product;
}

/** Multiplies by the inverse, which is the power 254. */
function divide(left: number, right: number): number {
  let [inverse, power] = [1, right];
  for (let bit = 1; bit < 8; bit++) {
    power = multiply(power, power);
    inverse = multiply(inverse, power);
  }
  return multiply(left, inverse);
}
