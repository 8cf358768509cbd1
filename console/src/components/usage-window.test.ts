import { bucketKey } from "./time-range.ts";
import { spanOfBuckets, usageWindow } from "./usage-window.ts";

const now = Date.parse("2026-03-31T22:30:00Z");

test("named days end today in the chosen time zone, and the previous period has the same length", () => {
  const { span, previous, buckets } = usageWindow({ range: "7d", from: undefined, to: undefined }, { now, timeZone: "Europe/Berlin" });
  expect(span).toEqual({ startDate: "2026-03-26", endDate: "2026-04-01" });
  expect(previous).toEqual({ startDate: "2026-03-19", endDate: "2026-03-25" });
  // Daylight saving time starts on the 29th; there are still seven buckets.
  expect(buckets.map(({ key }) => key.slice(8))).toEqual(["26", "27", "28", "29", "30", "31", "01"]);
});

test("the last 24 hours begin at a whole hour, and the 24 before end where they begin", () => {
  const { span, previous, buckets } = usageWindow({ range: "24h", from: undefined, to: undefined }, { now, timeZone: "UTC" });
  expect(span).toEqual({ startDate: "2026-03-30T23:00:00.000Z" });
  expect(previous).toEqual({ startDate: "2026-03-29T23:00:00.000Z", endDate: "2026-03-30T23:00:00.000Z" });
  expect(buckets).toHaveLength(24);
});

test("chosen dates override a named range; an invalid date is ignored", () => {
  const at = { now, timeZone: "UTC" };
  expect(usageWindow({ range: "24h", from: "2026-01-01", to: "2026-01-02" }, at)).toMatchObject({
    span: { startDate: "2026-01-01", endDate: "2026-01-02" },
    previous: { startDate: "2025-12-30", endDate: "2025-12-31" },
  });
  expect(usageWindow({ range: "24h", from: "2026-13-45", to: "2026-01-02" }, at).interval).toBe("hour");
  expect(usageWindow({ range: "24h", from: "1999-01-01", to: "2026-01-02" }, at).buckets).toHaveLength(366);
});

test("a zoom to one day shows its hours, 23 when the clocks go forward, and a zoom to hours shows only these", () => {
  const at = { now, timeZone: "Europe/Berlin" };
  const day = usageWindow({ range: "7d", from: "2026-03-29", to: "2026-03-29" }, at);
  expect([day.interval, day.buckets.length, day.buckets[0]?.label, day.buckets.at(-1)?.label]).toEqual(["hour", 23, "00:00", "23:00"]);
  const zoom = spanOfBuckets(day, 1, 2);
  expect(zoom).toEqual({ from: "2026-03-29T00:00:00.000Z", to: "2026-03-29T02:00:00.000Z" });
  expect(usageWindow({ range: "7d", ...zoom }, at)).toMatchObject({
    span: { startDate: zoom.from, endDate: zoom.to },
    previous: { startDate: "2026-03-28T22:00:00.000Z", endDate: zoom.from },
    buckets: [{ label: "01:00" }, { label: "03:00" }],
  });
});

test("the span of day bars is their first and last day, as the logs take it", () => {
  const week = usageWindow({ range: "7d", from: undefined, to: undefined }, { now, timeZone: "UTC" });
  expect(spanOfBuckets(week, 2, 4)).toEqual({ from: "2026-03-27", to: "2026-03-29" });
});

test.each([
  ["Asia/Kolkata", "2026-03-29T18:30:00.000Z"],
  ["Asia/Kathmandu", "2026-03-29T18:15:00.000Z"],
])("hours begin at the hours of %s, as the buckets of the API do", (timeZone, midnight) => {
  const at = { now, timeZone };
  const day = usageWindow({ range: "7d", from: "2026-03-30", to: "2026-03-30" }, at);
  expect([day.buckets.length, day.buckets[0], day.buckets.at(-1)?.label]).toEqual([24, { key: midnight, label: "00:00" }, "23:00"]);
  expect(bucketKey("hour", Date.parse(midnight), timeZone)).toBe(midnight);
  const zoom = spanOfBuckets(day, 0, 1);
  expect(zoom).toEqual({ from: midnight, to: new Date(Date.parse(midnight) + 7_200_000).toISOString() });
  expect(usageWindow({ range: "7d", ...zoom }, at)).toMatchObject({
    span: { startDate: zoom.from, endDate: zoom.to },
    buckets: [{ key: midnight, label: "00:00" }, { label: "01:00" }],
  });
  const { span, buckets } = usageWindow({ range: "24h", from: undefined, to: undefined }, at);
  expect(buckets[0]).toMatchObject({ key: span.startDate, label: expect.stringMatching(/:00$/) });
});
