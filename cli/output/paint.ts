import type { Io, Output } from "../io.ts";

/** `inverse` is white on black on every terminal, as QR codes need it. */
const CODES = { bold: "1", dim: "2", red: "31", green: "32", yellow: "33", cyan: "36", inverse: "97;40" } as const;
export type Tone = keyof typeof CODES;

/** Colors a text. Without a terminal, with NO_COLOR or on a terminal without colors it returns the text unchanged. */
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
const WARNING = new Set(["degraded", "cancelled", "pending", "waiting", "paused", "unknown", "invited", "stopped", "warn", "skip"]);

/** The color of a state, the same in every table. */
export function stateTone(state: string): Tone | undefined {
  if (GOOD.has(state)) return "green";
  if (BAD.has(state)) return "red";
  return WARNING.has(state) ? "yellow" : undefined;
}
