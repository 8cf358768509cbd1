import type { RangeOptions } from "lmdb";
import type { IndexValue } from "../collections.ts";
import type { Bounds } from "../store.ts";

/** Sorts after every value that can stand in an index. */
export const AFTER_ALL = Buffer.from([0xff]) as unknown as IndexValue;

/** LMDB's words for a window of keys. */
export function keyBounds<Key>(window: {
  low: Key | undefined;
  high: Key | undefined;
  after: Key | undefined;
  range: Bounds;
}): RangeOptions {
  const { low, high, after, range } = window;
  const options: Record<string, unknown> = {};
  if (range.reverse) {
    // Backwards LMDB starts at the upper end: the bound is exclusive there, and the lower one belongs to the range.
    options["reverse"] = true;
    options["exclusiveStart"] = true;
    options["inclusiveEnd"] = true;
    set(options, "start", after ?? high);
    set(options, "end", low);
  } else {
    set(options, "start", after ?? low);
    set(options, "end", high);
    if (after !== undefined) options["exclusiveStart"] = true;
  }
  set(options, "offset", range.skip);
  set(options, "limit", range.limit);
  return options as RangeOptions;
}

function set(options: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== undefined) options[name] = value;
}
