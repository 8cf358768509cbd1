// Dates and times of a query as instants. A bare date is a day of a time zone: 23, 24 or 25 hours.

export interface DateRange {
  /** Inclusive. */
  start: Date | undefined;
  /** Exclusive. */
  end: Date | undefined;
}

export interface DateRangeInput {
  startDate?: string | undefined;
  endDate?: string | undefined;
  tz: string;
}

export interface DateProblem {
  path: "startDate" | "endDate";
  message: string;
}

const DAY_MS = 86_400_000;
const ZONE_CACHE_MAX = 1000;

export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/**
 * The instants of a range. `startDate` and `endDate` are dates (`2026-03-29`, a whole day of `tz`, the end included) or dates with a time;
 * a time without an offset is in `tz`. An `endDate` with a time is exclusive.
 */
export function readDateRange(input: DateRangeInput): DateRange | DateProblem {
  const start = input.startDate === undefined ? undefined : readMoment(input.startDate, input.tz);
  const end = input.endDate === undefined ? undefined : readMoment(input.endDate, input.tz);
  if (start === "bad") return { path: "startDate", message: BAD_DATE };
  if (end === "bad") return { path: "endDate", message: BAD_DATE };
  if (start && end && start.from > end.from) return { path: "endDate", message: "must not be before startDate" };
  return { start: start && new Date(start.from), end: end && new Date(end.to) };
}

/** The start of the last `days` days of a time zone up to `end`, today included. */
export function lastDays(days: number, { end, tz }: { end: Date; tz: string }): Date {
  const local = new Date(end.getTime() - 1 + zoneOffsetMs(tz, end.getTime() - 1));
  const firstDay = Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() - (days - 1));
  return new Date(localToInstant(firstDay, tz));
}

const BAD_DATE = "must be a date (2026-01-31) or an ISO 8601 date and time";
const MOMENT = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|z|[+-]\d{2}:?\d{2})?)?$/;

/** The instant, and for a bare date the first instant after that day. */
function readMoment(text: string, zone: string): { from: number; to: number } | "bad" {
  const match = MOMENT.exec(text.trim());
  if (!match) return "bad";
  const [, year, month, day, hour, minute, second, fraction, offset] = match;
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const date = new Date(midnight);
  if (Number(year) < 1970 || date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return "bad";
  if (hour === undefined) return { from: localToInstant(midnight, zone), to: localToInstant(midnight + DAY_MS, zone) };
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? 0) > 59) return "bad";
  const milliseconds = Number((fraction ?? "").slice(0, 3).padEnd(3, "0"));
  const local = midnight + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second ?? 0)) * 1000 + milliseconds;
  const at = offset === undefined ? localToInstant(local, zone) : local - offsetMs(offset);
  return Number.isNaN(at) ? "bad" : { from: at, to: at };
}

function offsetMs(offset: string): number {
  if (offset === "Z" || offset === "z") return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(-2));
  if (hours > 14 || minutes > 59) return Number.NaN;
  return (offset.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

/**
 * The instant at which a zone's clocks show `local` (written as UTC). If they show it twice, the first instant. If they skip it, then for a
 * midnight the instant of the change, which is when that day begins.
 */
function localToInstant(local: number, zone: string): number {
  const before = zoneOffsetMs(zone, local - DAY_MS);
  const after = zoneOffsetMs(zone, local + DAY_MS);
  for (const offset of [Math.max(before, after), Math.min(before, after)]) {
    if (zoneOffsetMs(zone, local - offset) === offset) return local - offset;
  }
  return local - before;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function zoneOffsetMs(zone: string, instant: number): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    if (formats.size >= ZONE_CACHE_MAX) formats.clear();
    formats.set(zone, format);
  }
  const shown: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(instant)) shown[type] = Number(value);
  const local = Date.UTC(
    shown["year"] ?? 0,
    (shown["month"] ?? 1) - 1,
    shown["day"] ?? 1,
    shown["hour"] ?? 0,
    shown["minute"] ?? 0,
    shown["second"] ?? 0,
  );
  return local - Math.floor(instant / 1000) * 1000;
}
