import type { Database } from "lmdb";
import { type IndexDefinition, type IndexValue, indexValues } from "../collections.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";
import type { PackedEntries } from "./packed-entries.ts";

/** The database of an index: keys are `[...values, id]`. */
export type IndexDatabase = Database<Buffer, IndexValue[]>;

/** One index of a collection: record ids in the order of the indexed fields. */
export interface IndexTable {
  ids(range: Bounds): Iterable<IndexValue>;
  /** For each value of the first field its ids, in the order of the index. */
  idsOfEach(values: readonly IndexValue[]): IndexValue[][];
  /** Counts in parts that sum to the total; the reader may yield to the event loop between two parts. */
  counts(range: Bounds): Iterable<number>;
  /** Must run inside a transaction of the database. `packed` is what the indexes of the collection have in common. */
  apply(writes: readonly Write[], packed?: PackedEntries): void;
}

/** Value of a key that stands for one record. */
export const NOTHING = Buffer.alloc(0);

/** The index values that a write removes and adds; neither if the values do not change. */
export function movedValues(
  definition: IndexDefinition,
  before: object | undefined,
  after: object | undefined,
): { old: IndexValue[] | undefined; fresh: IndexValue[] | undefined } {
  const [old, fresh] = [before && indexValues(before, definition), after && indexValues(after, definition)];
  const stays = old && fresh?.every((value, position) => value === old[position]);
  return stays ? { old: undefined, fresh: undefined } : { old, fresh };
}
