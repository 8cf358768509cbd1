import { addRounds, epsilonOf, NOTHING_SPENT, type PrivateRound } from "./rdp-accountant.ts";

/** Deviation of the Gaussian mechanism for one release (Dwork and Roth 2014, theorem 3.22); it holds for an epsilon up to 1. */
export function gaussianDeviation({ epsilon, delta, sensitivity }: { epsilon: number; delta: number; sensitivity: number }): number {
  return (sensitivity * Math.sqrt(2 * Math.log(1.25 / delta))) / epsilon;
}

/**
 * Deviation of the noise on every number of a weighted mean of clipped updates: one participant moves the mean by its share of the
 * weights times the clip norm at most, so the largest share counts.
 */
export function centralDeviation(options: { clipNorm: number; noiseMultiplier: number; weights: readonly number[] }): number {
  const { clipNorm, noiseMultiplier, weights } = options;
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0) || weights.some((weight) => !(weight >= 0))) throw new RangeError("the weights are 0 or more, with a sum above 0");
  return (noiseMultiplier * clipNorm * weights.reduce((most, weight) => Math.max(most, weight), 0)) / total;
}

const MULTIPLIER_MAX = 1e6;
const RELATIVE_GAP = 1e-4;

/** The least noise multiplier, to a ten-thousandth, with which so many rounds stay within the budget; undefined where none does. */
export function noiseMultiplierFor(
  options: Omit<PrivateRound, "noiseMultiplier"> & { epsilon: number; delta: number; rounds: number },
): number | undefined {
  const { epsilon, delta, rounds, ...round } = options;
  const within = (noiseMultiplier: number): boolean =>
    epsilonOf(addRounds(NOTHING_SPENT, { ...round, noiseMultiplier }, rounds), delta) <= epsilon;
  if (!within(MULTIPLIER_MAX)) return undefined;
  let [low, high] = [0, MULTIPLIER_MAX];
  while (high - low > RELATIVE_GAP * high) {
    const middle = low === 0 ? high / 2 : Math.sqrt(low * high);
    if (within(middle)) high = middle;
    else low = middle;
    if (high < RELATIVE_GAP) return high;
  }
  return high;
}
