import type { RangeOptions } from "lmdb";
import type { IndexValue } from "../collections.ts";
import type { Bounds } from "../store.ts";

/** Sorts after every index value. */
export const AFTER_ALL = Buffer.from([0xff]) as unknown as IndexValue;

/** LMDB range options for a window of keys. */
export function keyBounds<Key>(window: {
  low: Key | undefined;
  high: Key | undefined;
  after: Key | undefined;
  range: Bounds;
}): RangeOptions {
  const { low, high, after, range } = window;
  const options: Record<string, unknown> = {};
  if (range.reverse) {
    // In reverse, LMDB starts at the upper bound, which is exclusive; the lower bound is inclusive.
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
