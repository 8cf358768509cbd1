import type { Query } from "../../api/client.ts";
import { bucketKey, bucketsOf, type RangeName, rangeStart } from "../../components/time-range.ts";

const DAY_MS = 86_400_000;
const DAYS_MAX = 366;

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
  /** Dates, which override a named range. */
  readonly from: string | undefined;
  readonly to: string | undefined;
}

export function usageWindow({ range, from, to }: Asked, { now, timeZone }: { now: number; timeZone: string }): UsageWindow {
  if (from !== undefined && to !== undefined && isDay(from) && isDay(to) && from <= to) return ofDays(from, to);
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
  return ofDays(shiftDay(today, range === "7d" ? -6 : -29), today);
}

export const asQuery = ({ startDate, endDate }: Span, timeZone: string): Query => ({ startDate, endDate, tz: timeZone });

export function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

function ofDays(first: string, last: string): UsageWindow {
  const length = Math.min(DAYS_MAX, Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1);
  const start = shiftDay(last, 1 - length);
  return {
    span: { startDate: start, endDate: last },
    previous: { startDate: shiftDay(start, -length), endDate: shiftDay(start, -1) },
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
