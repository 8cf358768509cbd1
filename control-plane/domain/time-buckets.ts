/** Width of the buckets of a usage query. */
export type Interval = "hour" | "day" | "month" | "all";

export const isTimezone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
};

/** Returns the name of the bucket that contains a moment, in a time zone: "2026-11-15T13:00:00+01:00", "2026-11-15", "2026-11", "all". */
export function bucketNamer(interval: Interval, timezone: string): (moment: number) => string {
  if (interval === "all") return () => "all";
  const format = new Intl.DateTimeFormat("en-CA", {
    timeZone: timezone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    hourCycle: "h23",
    timeZoneName: "longOffset",
  });
  const names = new Map<number, string>();
  return (moment) => {
    const known = names.get(moment);
    if (known !== undefined) return known;
    const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]));
    const name = nameOf(interval, parts);
    names.set(moment, name);
    return name;
  };
}

function nameOf(interval: Exclude<Interval, "all">, parts: Record<string, string>): string {
  const month = `${parts["year"]}-${parts["month"]}`;
  if (interval === "month") return month;
  const day = `${month}-${parts["day"]}`;
  if (interval === "day") return day;
  const offset = (parts["timeZoneName"] ?? "GMT").replace("GMT", "") || "+00:00";
  return `${day}T${parts["hour"]}:00:00${offset}`;
}
