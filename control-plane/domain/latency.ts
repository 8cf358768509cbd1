// How long calls took, in counts of a few fixed classes: percentiles of any sum of roll-ups can be told from them.

/** The upper ends of the classes, half as much again from one to the next; one more class is above them all. */
export const LATENCY_BOUNDS_MS: readonly number[] = [
  5, 10, 20, 35, 50, 75, 100, 150, 250, 400, 650, 1000, 1500, 2500, 4000, 6500, 10_000, 20_000, 60_000,
];

/** The counts of no call. */
export function noLatencies(): number[] {
  return new Array<number>(LATENCY_BOUNDS_MS.length + 1).fill(0);
}

/** One call more, in its class and in place. */
export function countLatency(counts: number[], latencyMs: number): void {
  let place = 0;
  while (latencyMs > (LATENCY_BOUNDS_MS[place] ?? Number.POSITIVE_INFINITY)) place++;
  counts[place] = (counts[place] ?? 0) + 1;
}

export function addLatencyCounts(left: readonly number[], right: readonly number[]): number[] {
  return left.map((count, place) => count + (right[place] ?? 0));
}

/** How long that share of calls took at most, taken as spread evenly over their class; undefined: there are none. */
export function latencyPercentile(counts: readonly number[], share: number): number | undefined {
  const calls = counts.reduce((sum, count) => sum + count, 0);
  if (calls === 0) return undefined;
  const rank = share * calls;
  let [below, from] = [0, 0];
  for (const [place, count] of counts.entries()) {
    const to = LATENCY_BOUNDS_MS[place];
    // Nobody knows how far the last class goes: its lower end is certain.
    if (to === undefined) break;
    if (count > 0 && below + count >= rank) return from + ((rank - below) / count) * (to - from);
    below += count;
    from = to;
  }
  return from;
}
