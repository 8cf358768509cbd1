/** Contributions are scaled to integers, so that rounding of floats can neither lose nor create money. */
const SCALE = 2 ** 40;

/**
 * Splits a budget in proportion to the contributions; the parts sum to it exactly. Every part is rounded down, and the rest goes one by
 * one to the largest remainders, the earlier first if equal. If all contributions are zero, all parts are equal.
 */
export function shareOut(budget: bigint, contributions: readonly number[]): bigint[] {
  if (budget < 0n) throw new Error(`a budget cannot be ${budget}`);
  if (contributions.length === 0) throw new Error("a budget needs at least one contribution");
  const weights = wholeWeights(contributions);
  const total = weights.reduce((sum, weight) => sum + weight, 0n);
  const parts = weights.map((weight, index) => ({ index, share: (budget * weight) / total, remainder: (budget * weight) % total }));
  let left = budget - parts.reduce((sum, { share }) => sum + share, 0n);
  const shares = parts.map(({ share }) => share);
  const inLine = parts.toSorted((one, other) =>
    one.remainder === other.remainder ? one.index - other.index : one.remainder > other.remainder ? -1 : 1,
  );
  for (const { index } of inLine) {
    if (left === 0n) break;
    shares[index] = (shares[index] as bigint) + 1n;
    left -= 1n;
  }
  return shares;
}

/** Negative values and NaN count as zero. */
function wholeWeights(contributions: readonly number[]): bigint[] {
  const counted = contributions.map((given) => (Number.isFinite(given) && given > 0 ? given : 0));
  const largest = Math.max(...counted);
  if (largest === 0) return counted.map(() => 1n);
  return counted.map((given) => BigInt(Math.round((given / largest) * SCALE)));
}
