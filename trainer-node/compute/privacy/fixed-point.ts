/**
 * Floats as whole numbers modulo 2^32, whose sums are exact in any order and whose masks cancel exactly. All participants of a sum must use
 * the same number of fraction bits.
 */
export interface FixedPoint {
  readonly fractionBits: number;
  /** Greatest magnitude of one value. */
  readonly limit: number;
}

const HALF = 2 ** 31;
/** Finer steps than these add nothing to a float32. */
const FRACTION_BITS_MAX = 40;

/** The finest steps for which the sum of all clients' values of at most `limit` stays below 2^31. */
export function fixedPointFor({ clients, limit }: { clients: number; limit: number }): FixedPoint {
  if (!(Number.isSafeInteger(clients) && clients > 0)) throw new RangeError(`a sum has one client or more, not ${clients}`);
  if (!(limit > 0 && Number.isFinite(limit))) throw new RangeError(`a limit is above 0, not ${limit}`);
  // One step per client is reserved for rounding up.
  const fractionBits = Math.min(FRACTION_BITS_MAX, Math.floor(Math.log2((HALF - 1 - clients) / (clients * limit))));
  return { fractionBits, limit };
}

/** Rounds values to the nearest step. Throws RangeError for a value that is beyond the limit or not a number. */
export function toWords(values: ArrayLike<number>, { fractionBits, limit }: FixedPoint): Uint32Array<ArrayBuffer> {
  const scale = 2 ** fractionBits;
  const words = new Uint32Array(values.length);
  for (let index = 0; index < words.length; index++) {
    const value = values[index] as number;
    if (!(Math.abs(value) <= limit)) throw new RangeError(`value ${index} is ${value}, not within ${limit}; clip before you mask`);
    words[index] = Math.round(value * scale);
  }
  return words;
}

/** Converts words back to floats. */
export function fromWords(words: Uint32Array, { fractionBits }: FixedPoint): Float64Array<ArrayBuffer> {
  const scale = 2 ** fractionBits;
  return Float64Array.from(words, (word) => (word | 0) / scale);
}

/** target += words, modulo 2^32. */
export function addWords(target: Uint32Array, words: Uint32Array): void {
  if (target.length !== words.length) throw new RangeError(`${words.length} words cannot be added to ${target.length}`);
  for (let index = 0; index < target.length; index++) target[index] = (target[index] as number) + (words[index] as number);
}
