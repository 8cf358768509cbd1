const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const RANGES = {
  "24h": { label: "24 hours", interval: "hour", spanMs: 24 * HOUR_MS },
  "7d": { label: "7 days", interval: "day", spanMs: 7 * DAY_MS },
  "30d": { label: "30 days", interval: "day", spanMs: 30 * DAY_MS },
} as const;
export type RangeName = keyof typeof RANGES;

export function readRange(value: unknown): RangeName {
  return typeof value === "string" && Object.hasOwn(RANGES, value) ? (value as RangeName) : "24h";
}

/** The start of a range that ends now, at a full hour or at midnight in the time zone, so that the first bar is complete. */
export function rangeStart(name: RangeName, { now, timeZone }: { now: number; timeZone: string }): string {
  const { spanMs, interval } = RANGES[name];
  if (interval === "hour") return new Date(hourStart(now, timeZone) - spanMs + HOUR_MS).toISOString();
  return dayName(now - spanMs + DAY_MS, timeZone);
}

/** Every bucket of a range, so that charts also show hours and days without calls. */
export function bucketsOf(name: RangeName, { now, timeZone }: { now: number; timeZone: string }): { key: string; label: string }[] {
  const { spanMs, interval } = RANGES[name];
  const step = interval === "hour" ? HOUR_MS : DAY_MS;
  const last = interval === "hour" ? hourStart(now, timeZone) : now;
  return Array.from({ length: spanMs / step }, (_, index) => {
    const at = last - spanMs + (index + 1) * step;
    return { key: bucketKey(interval, at, timeZone), label: bucketLabel(interval, at, timeZone) };
  });
}

/** The key that matches a bucket of the API with one of `bucketsOf`: the time at which an hour begins, or the date. */
export function bucketKey(interval: "hour" | "day", at: number, timeZone: string): string {
  return interval === "hour" ? new Date(hourStart(at, timeZone)).toISOString() : dayName(at, timeZone);
}

const minutes = new Map<string, Intl.DateTimeFormat>();

/** When the hour of the time zone began: not at a whole hour of UTC where the offset has minutes, such as +05:30. */
export function hourStart(at: number, timeZone: string): number {
  const format = minutes.get(timeZone) ?? new Intl.DateTimeFormat("en-GB", { minute: "numeric", timeZone });
  minutes.set(timeZone, format);
  return Math.floor(at / MINUTE_MS) * MINUTE_MS - Number(format.format(at)) * MINUTE_MS;
}

export function bucketLabel(interval: "hour" | "day", at: number, timeZone: string): string {
  const shape: Intl.DateTimeFormatOptions =
    interval === "hour" ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" };
  return new Date(at).toLocaleString("en-GB", { ...shape, timeZone });
}

function dayName(at: number, timeZone: string): string {
  return new Date(at).toLocaleDateString("sv-SE", { timeZone });
}
