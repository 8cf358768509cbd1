import { bucketKey, bucketsOf, rangeStart, readRange } from "./time-range.ts";

const now = Date.parse("2026-03-30T09:41:00Z");

test("a day of hours ends with the running hour, and each hour of the API falls on one of them", () => {
  const buckets = bucketsOf("24h", { now, timeZone: "UTC" });
  expect(buckets).toHaveLength(24);
  expect(buckets.at(-1)?.label).toBe("09:00");
  expect(buckets.at(-1)?.key).toBe(bucketKey("hour", Date.parse("2026-03-30T09:00:00Z"), "UTC"));
  expect(rangeStart("24h", { now, timeZone: "UTC" })).toBe("2026-03-29T10:00:00.000Z");
});

test("days are days of the time zone, also over a change of the clocks", () => {
  const timeZone = "Europe/Berlin";
  const keys = bucketsOf("7d", { now, timeZone }).map(({ key }) => key);
  expect(keys).toEqual(["2026-03-24", "2026-03-25", "2026-03-26", "2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30"]);
  // Midnight in Berlin, as in a bucket of the API.
  expect(bucketKey("day", Date.parse("2026-03-29T00:00:00+01:00"), timeZone)).toBe("2026-03-29");
  expect(rangeStart("7d", { now, timeZone })).toBe("2026-03-24");
});

test("an unknown range falls back to the shortest one", () => {
  expect([readRange("30d"), readRange("1y"), readRange(undefined), readRange("constructor")]).toEqual(["30d", "24h", "24h", "24h"]);
});
