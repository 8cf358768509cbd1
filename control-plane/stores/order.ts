import type { IndexValue } from "./collections.ts";
import type { Bounds, Position } from "./store.ts";

/** Whether a record at this position of the scanned index belongs to the range. */
export function inRange(position: Position, range: Bounds): boolean {
  const prefix = range.equals ?? [];
  if (compareTuples(position.slice(0, prefix.length), prefix) !== 0) return false;
  const next = position[prefix.length];
  if (range.from !== undefined && (next === undefined || compareValues(next, range.from) < 0)) return false;
  if (range.before !== undefined && (next === undefined || compareValues(next, range.before) >= 0)) return false;
  if (!range.after) return true;
  const order = compareTuples(position, range.after);
  return range.reverse ? order < 0 : order > 0;
}

export function compareTuples(left: readonly IndexValue[], right: readonly IndexValue[]): number {
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const [a, b] = [left[index], right[index]];
    if (a === undefined || b === undefined) return a === undefined ? (b === undefined ? 0 : -1) : 1;
    const order = compareValues(a, b);
    if (order !== 0) return order;
  }
  return 0;
}

/** From here on, the order of code units is not that of bytes: the two halves of a character beyond U+FFFF sort before some characters below it. */
const NOT_AS_BYTES = /[\ud800-\uffff]/;

/** Numbers before strings, and strings by their bytes, as both stores sort. */
export function compareValues(left: IndexValue, right: IndexValue): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== typeof right) return typeof left === "number" ? -1 : 1;
  if (left === right) return 0;
  if (NOT_AS_BYTES.test(left as string) || NOT_AS_BYTES.test(right as string)) {
    return Buffer.compare(Buffer.from(left as string), Buffer.from(right as string));
  }
  return left < right ? -1 : 1;
}
