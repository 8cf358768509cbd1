const BROWSERS = [
  ["Edg/", "Edge"],
  ["OPR/", "Opera"],
  ["Firefox/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"],
] as const;
const SYSTEMS = [
  ["Windows", "Windows"],
  ["Android", "Android"],
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Mac OS X", "macOS"],
  ["Linux", "Linux"],
] as const;
const LENGTH_MAX = 40;

/** A short name of a session's client: "Firefox on Windows"; other programs by the beginning of their user agent. */
export function deviceName(userAgent: string | null): string {
  if (!userAgent) return "Unknown device";
  const browser = BROWSERS.find(([part]) => userAgent.includes(part))?.[1];
  const system = SYSTEMS.find(([part]) => userAgent.includes(part))?.[1];
  if (browser) return system ? `${browser} on ${system}` : browser;
  return userAgent.length > LENGTH_MAX ? `${userAgent.slice(0, LENGTH_MAX)}…` : userAgent;
}
