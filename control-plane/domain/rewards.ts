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

/**
 * The contributions by which a round is paid. Where no update contributed, all parts are equal, but for the updates that the strategy left
 * out: they are no part of the result.
 */
export function paidContributions(updates: readonly { readonly contribution: number; readonly kept?: boolean }[]): number[] {
  if (updates.some(({ contribution }) => counted(contribution) > 0)) return updates.map(({ contribution }) => contribution);
  return updates.map(({ kept }) => (kept === false ? 0 : 1));
}

/** Negative values and NaN count as zero. */
const counted = (given: number): number => (Number.isFinite(given) && given > 0 ? given : 0);

function wholeWeights(given: readonly number[]): bigint[] {
  const contributions = given.map(counted);
  const largest = Math.max(...contributions);
  if (largest === 0) return contributions.map(() => 1n);
  return contributions.map((contribution) => BigInt(Math.round((contribution / largest) * SCALE)));
}
