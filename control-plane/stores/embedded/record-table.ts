import type { Database } from "lmdb";
import type { IndexValue } from "../collections.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";

/** The database of a collection. The key of a record is its id; one of several records is a list. */
export type RecordDatabase = Database<Buffer, IndexValue | IndexValue[]>;

export type StoredRecord = { readonly id: IndexValue };

/** The records of a collection, by id. */
export interface RecordTable {
  get(id: IndexValue): StoredRecord | undefined;
  getMany(ids: readonly IndexValue[]): (StoredRecord | undefined)[];
  /** In the order of ids. */
  range(range: Bounds): Iterable<StoredRecord>;
  /** Counts in parts that sum to the total; the reader may yield to the event loop between two parts. */
  counts(range: Bounds): Iterable<number>;
  /** A record as it is stored alone: equal bytes are equal records. */
  encoded(id: IndexValue): Buffer | undefined;
  /** Records as they are stored alone, in the order of ids. */
  encodedRange(range: Bounds): Iterable<{ readonly id: IndexValue; readonly bytes: Buffer }>;
  /** Must run inside a transaction of the database. Throws if a record that is to be new exists. */
  apply(writes: readonly Write[]): void;
  /** The writes are committed; absent in a table that keeps nothing. */
  committed?(writes: readonly Write[]): void;
}
