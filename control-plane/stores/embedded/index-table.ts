import type { Database } from "lmdb";
import { type IndexDefinition, type IndexValue, indexValues } from "../collections.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";

/** The database of an index: keys are `[...values, id]`. */
export type IndexDatabase = Database<Buffer, IndexValue[]>;

/** The ids of a collection's records in the order of some of their fields. */
export interface IndexTable {
  ids(range: Bounds): Iterable<IndexValue>;
  /** How many there are, in parts that add up to it: between two of them the reader may give others their turn. */
  counts(range: Bounds): Iterable<number>;
  /** Inside of a transaction of the database. */
  apply(writes: readonly Write[]): void;
}

/** Behind a key that stands for one record. */
export const NOTHING = Buffer.alloc(0);

/** What leaves an index with a write and what comes to it; neither when the record stays where it is. */
export function movedValues(
  definition: IndexDefinition,
  before: object | undefined,
  after: object | undefined,
): { old: IndexValue[] | undefined; fresh: IndexValue[] | undefined } {
  const [old, fresh] = [before && indexValues(before, definition), after && indexValues(after, definition)];
  const stays = old && fresh?.every((value, position) => value === old[position]);
  return stays ? { old: undefined, fresh: undefined } : { old, fresh };
}
