import type { Query } from "../api/client.ts";
import { bucketKey, bucketLabel, bucketsOf, hourStart, type RangeName, rangeStart } from "./time-range.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_MAX = 366;
/** Up to so many days are shown in hours. */
const DAYS_IN_HOURS_MAX = 2;
const HOURS_MAX = 24 * 7;

/** A time span as the API takes it: two dates, both inclusive, or two times. */
export interface Span {
  readonly startDate: string;
  readonly endDate?: string;
}

/** The window of a usage screen: the requested span, the previous span of equal length, and all buckets. */
export interface UsageWindow {
  readonly span: Span;
  readonly previous: Span;
  readonly interval: "hour" | "day";
  readonly buckets: readonly { key: string; label: string }[];
}

interface Asked {
  readonly range: RangeName;
  /** Dates or times, which override a named range. */
  readonly from: string | undefined;
  readonly to: string | undefined;
}

export function usageWindow({ range, from, to }: Asked, { now, timeZone }: { now: number; timeZone: string }): UsageWindow {
  const isChosen = from !== undefined && to !== undefined && from <= to;
  if (isChosen && isDay(from) && isDay(to)) return ofDays(from, to, timeZone);
  if (isChosen && isTime(from) && isTime(to) && from < to) return ofTimes(from, to, timeZone);
  if (range === "24h") {
    const startDate = rangeStart(range, { now, timeZone });
    const before = new Date(Date.parse(startDate) - DAY_MS).toISOString();
    return {
      span: { startDate },
      previous: { startDate: before, endDate: startDate },
      interval: "hour",
      buckets: bucketsOf(range, { now, timeZone }),
    };
  }
  const today = bucketKey("day", now, timeZone);
  return ofDays(shiftDay(today, range === "7d" ? -6 : -29), today, timeZone);
}

/** The span in the address of a screen, as `spanOfBuckets` wrote it. */
export function chosenSpan({ from, to }: Readonly<Record<string, unknown>>): { from: string | undefined; to: string | undefined } {
  return from === undefined || to === undefined ? { from: undefined, to: undefined } : { from: String(from), to: String(to) };
}

export const asQuery = ({ startDate, endDate }: Span, timeZone: string): Query => ({ startDate, endDate, tz: timeZone });

export function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** The beginning of an hour in some time zone, as `spanOfBuckets` writes it. */
function isTime(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T\d{2}:(00|15|30|45):00\.000Z$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** The span of some bars, as the address of a usage screen or of the logs has it. */
export function spanOfBuckets(
  { interval, buckets }: Pick<UsageWindow, "interval" | "buckets">,
  first: number,
  last: number,
): { from: string; to: string } {
  const [from = "", to = ""] = [buckets[first]?.key, buckets[last]?.key];
  if (interval === "day") return { from, to };
  return { from, to: timeAt(Date.parse(to) + HOUR_MS) };
}

const timeAt = (at: number): string => new Date(at).toISOString();

/** The chosen span in words. */
export function spanText({ buckets, interval }: UsageWindow): string {
  const [first, last] = [buckets[0]?.label, buckets.at(-1)?.label];
  return first === last ? `${interval} of ${first}` : `${first} to ${last}`;
}

function ofTimes(from: string, to: string, timeZone: string): UsageWindow {
  const end = hourStart(Date.parse(to) - 1, timeZone) + HOUR_MS;
  const start = Math.max(hourStart(Date.parse(from), timeZone), end - HOURS_MAX * HOUR_MS);
  return {
    span: { startDate: timeAt(start), endDate: timeAt(end) },
    previous: { startDate: timeAt(2 * start - end), endDate: timeAt(start) },
    interval: "hour",
    buckets: Array.from({ length: (end - start) / HOUR_MS }, (_, index) => hourBucket(start + index * HOUR_MS, timeZone)),
  };
}

/** Every hour that belongs to one of the days in the time zone: 23, 24 or 25 a day. */
function hoursOfDays(first: string, last: string, timeZone: string): UsageWindow["buckets"] {
  const hours = Math.round((Date.parse(last) - Date.parse(first)) / HOUR_MS) + 3 * 24;
  return Array.from({ length: hours }, (_, index) => hourStart(Date.parse(first) - DAY_MS, timeZone) + index * HOUR_MS)
    .filter((at) => {
      const day = bucketKey("day", at, timeZone);
      return first <= day && day <= last;
    })
    .map((at) => hourBucket(at, timeZone));
}

function hourBucket(at: number, timeZone: string): { key: string; label: string } {
  return { key: bucketKey("hour", at, timeZone), label: bucketLabel("hour", at, timeZone) };
}

function ofDays(first: string, last: string, timeZone: string): UsageWindow {
  const length = Math.min(DAYS_MAX, Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1);
  const start = shiftDay(last, 1 - length);
  const shared = {
    span: { startDate: start, endDate: last },
    previous: { startDate: shiftDay(start, -length), endDate: shiftDay(start, -1) },
  };
  if (length <= DAYS_IN_HOURS_MAX) return { ...shared, interval: "hour", buckets: hoursOfDays(start, last, timeZone) };
  return {
    ...shared,
    interval: "day",
    buckets: Array.from({ length }, (_, index) => {
      const key = shiftDay(start, index);
      return { key, label: new Date(key).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }) };
    }),
  };
}

/** Shifts the calendar date, so that days of 23 or 25 hours count as one. */
function shiftDay(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}
