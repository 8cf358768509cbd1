import { isTimeZone, lastDays, readDateRange } from "./date-range.ts";

const HOUR_MS = 3_600_000;

function hoursOf(date: string, tz: string): number {
  const range = readDateRange({ startDate: date, endDate: date, tz });
  if (!("start" in range) || !range.start || !range.end) throw new Error("no range");
  return (range.end.getTime() - range.start.getTime()) / HOUR_MS;
}

test("a bare date is the whole day of the time zone, the end date included", () => {
  const range = readDateRange({ startDate: "2026-01-30", endDate: "2026-01-31", tz: "Asia/Tokyo" });
  expect(range).toEqual({ start: new Date("2026-01-29T15:00:00.000Z"), end: new Date("2026-01-31T15:00:00.000Z") });
});

test("a day on which clocks change has 23 or 25 hours", () => {
  expect(hoursOf("2026-03-29", "Europe/Berlin")).toBe(23);
  expect(hoursOf("2026-10-25", "Europe/Berlin")).toBe(25);
  expect(hoursOf("2026-03-29", "UTC")).toBe(24);
  expect(hoursOf("2026-04-05", "Australia/Lord_Howe")).toBe(24.5);
});

test("a day whose midnight does not exist begins when clocks jump", () => {
  const range = readDateRange({ startDate: "2018-11-04", endDate: "2018-11-04", tz: "America/Sao_Paulo" });
  expect(range).toEqual({ start: new Date("2018-11-04T03:00:00.000Z"), end: new Date("2018-11-05T02:00:00.000Z") });
});

test("a time with offset is that instant; without one it is a time of the zone; as an end it is exclusive", () => {
  expect(readDateRange({ startDate: "2026-06-01T12:00:00+02:00", endDate: "2026-06-01T12:00:00.500", tz: "Europe/Berlin" })).toEqual({
    start: new Date("2026-06-01T10:00:00.000Z"),
    end: new Date("2026-06-01T10:00:00.500Z"),
  });
});

test.each(["2026-02-30", "2026-13-01", "yesterday", "", "2026-01-01T25:00", "20260101", "2026-01-01T00:00+99:00", "0001-01-01"])(
  "%p is refused as a date",
  (startDate) => {
    expect(readDateRange({ startDate, tz: "UTC" })).toMatchObject({ path: "startDate" });
  },
);

test("a range that ends before it starts is refused", () => {
  expect(readDateRange({ startDate: "2026-01-02", endDate: "2026-01-01", tz: "UTC" })).toMatchObject({ path: "endDate" });
});

test("the last days begin at a midnight of the zone", () => {
  const end = new Date("2026-03-30T12:00:00.000Z");
  expect(lastDays(2, { end, tz: "Europe/Berlin" })).toEqual(new Date("2026-03-28T23:00:00.000Z"));
  expect(lastDays(30, { end, tz: "UTC" })).toEqual(new Date("2026-03-01T00:00:00.000Z"));
});

test("only IANA names are time zones", () => {
  expect(["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires"].every(isTimeZone)).toBe(true);
  expect(["", "+02:00", "Mars/Olympus", "UTC; drop", "__proto__"].some(isTimeZone)).toBe(false);
});
