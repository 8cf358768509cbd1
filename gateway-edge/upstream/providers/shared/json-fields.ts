import { AppError } from "../../../../common/errors.ts";
import type { Fields } from "../provider.ts";

/** Untrusted JSON: each of these functions returns a plain value for any input. */
export function asFields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A count of tokens: 0 where there is no number, NaN for a number that cannot be a count, which invalidates the whole report. */
export function asCount(value: unknown): number {
  if (typeof value !== "number") return 0;
  return Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}

/** The fields that have a value; null counts as none. */
export function present(fields: Fields): Record<string, unknown> {
  // Copied whole where nothing is dropped, which is faster.
  if (Object.keys(fields).every((name) => fields[name] !== null && fields[name] !== undefined)) return { ...fields };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/** The data of one event, as JSON. */
export function parseEvent(text: string): Fields {
  try {
    return asFields(JSON.parse(text));
  } catch (cause) {
    throw malformed("an event that is not JSON", cause);
  }
}

export function malformed(what: string, cause?: unknown): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider sent an answer that is not valid.", { internal: what, cause });
}

/** The stream ended before the answer did. */
export function brokenOff(): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider's answer ended before it was complete.");
}
