import type { Usage } from "./usage.ts";

const COUNTS = ["input", "cachedInput", "cacheWrite", "output", "reasoning", "audioInput", "audioOutput"] as const;

/** The usage of two calls as one, for an answer that several calls made. Each of them is billed by itself. */
export function summedUsage(left: Usage, right: Usage): Usage {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, left[name] + right[name]])) as Record<(typeof COUNTS)[number], number>;
  const source = left.source === "provider" && right.source === "provider" ? "provider" : "estimated";
  return { ...counts, source };
}
