import type { Io, Output } from "../io.ts";

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Tone = keyof typeof CODES;

/** Colours a text, or leaves it as it is: no terminal, NO_COLOR, or a terminal that has none. */
export type Paint = (tone: Tone, text: string) => string;

export function painter(output: Output, env: Io["env"]): Paint {
  const forced = env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0";
  const on = !env["NO_COLOR"] && (forced || (output.isTerminal && env["TERM"] !== "dumb"));
  return on ? (tone, text) => `\u001b[${CODES[tone]}m${text}\u001b[0m` : (_tone, text) => text;
}

const GOOD = new Set([
  "active",
  "success",
  "up",
  "ready",
  "completed",
  "committed",
  "delivered",
  "ok",
  "pass",
  "running",
  "paid",
  "accepted",
]);
const BAD = new Set(["blocked", "error", "down", "failed", "fail", "expired", "rejected"]);
const MIDDLING = new Set(["degraded", "cancelled", "pending", "waiting", "paused", "unknown", "invited", "stopped", "warn", "skip"]);

/** The colour of a state, so that it is the same in every table. */
export function stateTone(state: string): Tone | undefined {
  if (GOOD.has(state)) return "green";
  if (BAD.has(state)) return "red";
  return MIDDLING.has(state) ? "yellow" : undefined;
}
