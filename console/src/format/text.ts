/** "1 key", "2 keys". */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount.toLocaleString("en-US")} ${amount === 1 ? one : many}`;
}

/** Formats a time; the year is included only if it is not the current one. */
export function formatTime(iso: string, timeZone?: string): string {
  const at = new Date(iso);
  return at.toLocaleString("en-GB", {
    day: "2-digit",
    month: "short",
    ...(at.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
    ...(timeZone ? { timeZone } : {}),
  });
}

const STEPS = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
  [Number.POSITIVE_INFINITY, "year"],
] as const;

/** "3 minutes ago". */
export function ago(iso: string, now = Date.now()): string {
  let amount = Math.max(0, (now - Date.parse(iso)) / 1000);
  for (const [size, unit] of STEPS) {
    if (amount < size) return amount < 5 && unit === "second" ? "just now" : `${count(Math.floor(amount), unit)} ago`;
    amount /= size;
  }
  return "";
}

export function formatMs(ms: number): string {
  if (ms >= 120_000) return count(Math.round(ms / 60_000), "minute");
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return count(bytes, "byte");
  if (bytes < 1_048_576) return `${(bytes / 1024).toFixed(1)} KiB`;
  const mib = bytes / 1_048_576;
  return mib < 1024 ? `${mib.toFixed(mib < 10 ? 1 : 0)} MiB` : `${(mib / 1024).toFixed(mib < 10_240 ? 1 : 0)} GiB`;
}
