import { toJson } from "../../common/json.ts";
import { toUsdString } from "../../common/money.ts";
import { relativeTime } from "./relative-time.ts";

/** How a response value is formatted for people. */
export type ValueFormat = "text" | "state" | "usd" | "price" | "count" | "time" | "list" | "ms" | "percent" | "decimal" | "yesno";

export interface Column {
  readonly title: string;
  /** Dotted path of the value: "provider.name". */
  readonly at: string;
  readonly as?: ValueFormat;
}

/** The value at a dotted path, or undefined. "a|b" is the first of the two that exists. */
export function valueAt(record: unknown, path: string): unknown {
  const [first = path, ...others] = path.split("|");
  const value = first.split(".").reduce<unknown>(step, record);
  return others.length > 0 && (value === undefined || value === null) ? valueAt(record, others.join("|")) : value;
}

function step(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return name === "length" ? value.length : value[Number(name)];
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Formats a value. With `nowMs`, a time is relative to it: "2 min ago". */
export function format(value: unknown, as: ValueFormat = "text", nowMs?: number): string {
  if (value === null || value === undefined || value === "") return "-";
  if (as === "time" && nowMs !== undefined) return relativeTime(asText(value), nowMs);
  return sanitize(FORMATTERS[as](value));
}

export const alignsRight = (as: ValueFormat | undefined): boolean =>
  as === "usd" || as === "price" || as === "count" || as === "ms" || as === "percent" || as === "decimal";

const FORMATTERS: Readonly<Record<ValueFormat, (value: unknown) => string>> = {
  text: asText,
  state: asText,
  usd: (value) => (typeof value === "bigint" ? `$${toUsdString(value)}`.replace("$-", "-$") : asText(value)),
  // Prices are stored in nano-USD per million units.
  price: (value) => (typeof value === "bigint" ? `$${toUsdString(value)}` : asText(value)),
  count: (value) => (typeof value === "bigint" || typeof value === "number" ? value.toLocaleString("en-US") : asText(value)),
  time: (value) => asText(value).replace(/\.\d+Z$/, "Z"),
  list: (value) => (Array.isArray(value) ? value.map(asText).join(", ") || "-" : asText(value)),
  ms: (value) => `${asText(value)} ms`,
  percent: (value) => `${(Number(value) * 100).toFixed(1)} %`,
  decimal: (value) => Number(value).toFixed(4),
  yesno: (value) => (value === true ? "yes" : "no"),
};

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  return isObject(value) || Array.isArray(value) ? toJson(value) : String(value);
}

/** Replaces control characters, because names are untrusted input and could move the cursor or change colors. */
export function sanitize(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd").replace(/[\n\t]+/g, " ");
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
