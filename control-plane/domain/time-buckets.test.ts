import { bucketNamer, isTimezone } from "./time-buckets.ts";

const moment = Date.UTC(2026, 2, 29, 0, 45);

test("hours, days and months are those of the asked zone", () => {
  expect(bucketNamer("day", "UTC")(moment)).toBe("2026-03-29");
  expect(bucketNamer("day", "America/New_York")(moment)).toBe("2026-03-28");
  expect(bucketNamer("month", "Pacific/Kiritimati")(Date.UTC(2026, 0, 31, 12))).toBe("2026-02");
  expect(bucketNamer("hour", "Asia/Kolkata")(moment)).toBe("2026-03-29T06:00:00+05:30");
  expect(bucketNamer("hour", "UTC")(moment)).toBe("2026-03-29T00:00:00+00:00");
  expect(bucketNamer("all", "UTC")(moment)).toBe("all");
});

test("the two hours of an autumn clock change are distinct by their offset", () => {
  const name = bucketNamer("hour", "Europe/Berlin");
  const first = name(Date.UTC(2026, 9, 25, 0, 30));
  const second = name(Date.UTC(2026, 9, 25, 1, 30));
  expect([first, second]).toEqual(["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"]);
});

test("a zone is a name that exists", () => {
  expect([isTimezone("Europe/Berlin"), isTimezone("Mars/Olympus"), isTimezone("")]).toEqual([true, false, false]);
});
