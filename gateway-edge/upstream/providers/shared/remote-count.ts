import type { Fields } from "../provider.ts";
import { malformed } from "./json-fields.ts";

/** The fields of a request that a counting endpoint takes. */
export function countable(request: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.flatMap((name) => (request[name] === undefined ? [] : [[name, request[name]]])));
}

export function readCount(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw malformed("an answer without a count");
  return value;
}
