// Latency histograms with fixed classes: percentiles can be computed for any sum of roll-ups.

/** Upper bounds of the classes, each about half as much again as the one before; one more class is above them all. */
export const LATENCY_BOUNDS_MS: readonly number[] = [
  5, 10, 20, 35, 50, 75, 100, 150, 250, 400, 650, 1000, 1500, 2500, 4000, 6500, 10_000, 20_000, 60_000,
];

/** An empty histogram. */
export function noLatencies(): number[] {
  return new Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0);
}

/** Adds one call to its class, in place. */
export function countLatency(counts: number[], latencyMs: number): void {
  let place = 0;
  while (latencyMs > (LATENCY_BOUNDS_MS[place] ?? Number.POSITIVE_INFINITY)) place++;
  counts[place] = (counts[place] ?? 0) + 1;
}

export function addLatencyCounts(left: readonly number[], right: readonly number[]): number[] {
  return left.map((count, place) => count + (right[place] ?? 0));
}

/** The latency that the given share of calls stays within, interpolated inside its class; undefined without calls. */
export function latencyPercentile(counts: readonly number[], share: number): number | undefined {
  const calls = counts.reduce((sum, count) => sum + count, 0);
  if (calls === 0) return undefined;
  const rank = share * calls;
  let [below, from] = [0, 0];
  for (const [place, count] of counts.entries()) {
    const to = LATENCY_BOUNDS_MS[place];
    // The last class has no upper bound, so its lower bound is the answer.
    if (to === undefined) break;
    if (count > 0 && below + count >= rank) return from + ((rank - below) / count) * (to - from);
    below += count;
    from = to;
  }
  return from;
}
