import type { Rollup } from "../../domain/records.ts";
import { UsageBuckets } from "./buckets.ts";

const rollup = { requests: 1, errors: 0, input: 1, cachedInput: 0, output: 1, total: 2, cost: 1n } as Rollup;

test("the hour that comes twice when summer time ends comes in the order of time, and groups in that of their names", () => {
  const buckets = new UsageBuckets();
  const hours = ["2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"];
  for (const bucket of hours.toReversed()) {
    for (const group of ["b", "a"]) buckets.add({ bucket, group, at: Date.parse(bucket) + 900_000 }, rollup);
    buckets.add({ bucket, group: "a", at: Date.parse(bucket) }, rollup);
  }
  expect(buckets.sorted().map(({ bucket, group, requests }) => [bucket, group, requests])).toEqual(
    hours.flatMap((bucket) => [
      [bucket, "a", 2n],
      [bucket, "b", 1n],
    ]),
  );
});
