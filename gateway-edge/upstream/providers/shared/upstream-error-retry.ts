import type { UpstreamFailure } from "../provider.ts";
import { asFields, asList, asText } from "./json-fields.ts";

const SECONDS_MAX = 3600;
const LIMIT_PREFIX = "ratelimit-";
const DURATION_LENGTH_MAX = 100;
const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

/** When an upstream may be called again, in whole seconds from 1 to an hour; undefined when it does not say. */
export function readRetryAfter({ headers, body }: UpstreamFailure): number | undefined {
  const header = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const seconds =
    fromMilliseconds(header.get("retry-after-ms")) ??
    fromSecondsOrDate(header.get("retry-after"), header.get("date")) ??
    fromRetryInfo(body) ??
    fromResets(header) ??
    fromText(body);
  return seconds === undefined ? undefined : Math.min(SECONDS_MAX, Math.max(1, Math.ceil(seconds)));
}

function fromMilliseconds(value: string | undefined): number | undefined {
  const milliseconds = Number(value);
  return value !== undefined && Number.isFinite(milliseconds) && milliseconds >= 0 ? milliseconds / 1000 : undefined;
}

function fromSecondsOrDate(value: string | undefined, now: string | undefined): number | undefined {
  if (value === undefined || value.trim() === "") return undefined;
  const seconds = Number(value);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : untilDate(value, now);
}

/** Dates are compared with the upstream's own clock, so that its skew does not matter and no clock is needed here. */
function untilDate(value: string, now: string | undefined): number | undefined {
  const milliseconds = Date.parse(value) - Date.parse(now ?? "");
  return Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds / 1000 : undefined;
}

/** Google: error.details[] has { "@type": ".../google.rpc.RetryInfo", retryDelay: "23s" } */
function fromRetryInfo(body: unknown): number | undefined {
  const error = asFields(asFields(Array.isArray(body) ? body[0] : body)["error"]);
  const delays = asList(error["details"]).flatMap((detail) => asText(asFields(detail)["retryDelay"]) ?? []);
  return delays.length > 0 ? duration(delays[0]) : undefined;
}

/** The latest reset among the limits that are used up: `x-ratelimit-reset-tokens: 6m0s`, `anthropic-ratelimit-tokens-reset: <date>`. */
function fromResets(header: ReadonlyMap<string, string>): number | undefined {
  const seconds = [...header].flatMap(([name, value]) => {
    if (!isReset(name)) return [];
    const remaining = header.get(name.replace("reset", "remaining"));
    if (remaining !== undefined && Number(remaining) > 0) return [];
    return duration(value) ?? untilDate(value, header.get("date")) ?? [];
  });
  return seconds.length > 0 ? Math.max(...seconds) : undefined;
}

function isReset(name: string): boolean {
  const at = name.indexOf(LIMIT_PREFIX);
  const limit = at < 0 ? "" : name.slice(at + LIMIT_PREFIX.length);
  return limit.startsWith("reset") || limit.includes("-reset");
}

/** "Please try again in 7m12s", "Please retry after 6 seconds". */
function fromText(body: unknown): number | undefined {
  const text = typeof body === "string" ? body : JSON.stringify(body ?? "");
  const found = /(?:try again in|retry after|retry in)\s+((?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)\w*\s*)+)/i.exec(text.slice(0, 4000));
  return duration(found?.[1]);
}

function duration(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const text = given.slice(0, DURATION_LENGTH_MAX);
  // A bare number is seconds, unless it is a Unix time (some send that), which cannot be used without a clock.
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) < 1e9 ? Number(text) : undefined;
  const pieces = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/gi)];
  if (pieces.length === 0 || /\d{4}-\d{2}/.test(text)) return undefined;
  return pieces.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_SECONDS[(unit as string).toLowerCase()] as number), 0);
}
