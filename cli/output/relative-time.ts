const UNITS = [
  { name: "d", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;
const DAYS_MAX = 30;

/** "2 min ago", "in 3 d", and the day itself for times further away than 30 days. A text that is not a time stays as it is. */
export function relativeTime(text: string, nowMs: number): string {
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) return text;
  const distance = Math.abs(nowMs - atMs);
  if (distance > DAYS_MAX * UNITS[0].ms) return text.slice(0, "2026-11-15".length);
  const unit = UNITS.find(({ ms }) => distance >= ms);
  if (unit === undefined) return "now";
  const amount = `${Math.floor(distance / unit.ms)} ${unit.name}`;
  return atMs > nowMs ? `in ${amount}` : `${amount} ago`;
}
