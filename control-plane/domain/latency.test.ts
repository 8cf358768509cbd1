import { addLatencyCounts, countLatency, LATENCY_BOUNDS_MS, latencyPercentile, noLatencies } from "./latency.ts";

const latencyCountsOf = (latencyMs: number) => {
  const counts = noLatencies();
  countLatency(counts, latencyMs);
  return counts;
};
const countsOf = (latencies: readonly number[]) => latencies.map(latencyCountsOf).reduce(addLatencyCounts);

test("a latency is counted once, in the first class that reaches it", () => {
  expect(latencyCountsOf(0).indexOf(1)).toBe(0);
  expect(latencyCountsOf(5).indexOf(1)).toBe(0);
  expect(latencyCountsOf(6).indexOf(1)).toBe(1);
  expect(latencyCountsOf(60_001).indexOf(1)).toBe(LATENCY_BOUNDS_MS.length);
  expect(countsOf([1, 7, 7, 99_999]).reduce((sum, count) => sum + count, 0)).toBe(4);
});

test("a percentile lies in the class of the call that it names", () => {
  const counts = countsOf([...new Array<number>(90).fill(30), ...new Array<number>(10).fill(900)]);
  expect(latencyPercentile(counts, 0.5)).toBeGreaterThan(20);
  expect(latencyPercentile(counts, 0.5)).toBeLessThanOrEqual(35);
  expect(latencyPercentile(counts, 0.95)).toBeGreaterThan(650);
  expect(latencyPercentile(counts, 0.95)).toBeLessThanOrEqual(1000);
});

test("without calls there is no percentile, and above all classes it says what is certain", () => {
  expect(latencyPercentile([], 0.5)).toBeUndefined();
  expect(latencyPercentile(countsOf([99_999]), 0.5)).toBe(60_000);
});
