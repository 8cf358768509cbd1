import type { FeedRow } from "../domain/records.ts";
import type { CollectionName, IndexName, IndexValue, Records } from "./collections.ts";

/**
 * The truth's port. Domain and services cannot tell which adapter they run on: `embedded` (LMDB, one process) or `mongo`
 * (a replica set, many control planes). Both pass store-contract.ts.
 */
export interface Store extends Reader {
  /**
   * All or nothing, serialised with every other transaction, durable when it resolves. `work` may run more than once (another
   * control plane committed first): it must build everything afresh and touch nothing outside `tx`.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** How many new records one transaction had better write at most: others wait for it. */
  readonly rowsPerTransaction: number;
  /** Calls back, soon, when the feed may have grown, whoever wrote it. Returns the way to stop. */
  onFeed(listener: () => void): () => void;
  /**
   * While a majority of the store answers and none of it is the primary, so that nothing can be written: what can be read of the feed
   * behind a revision, written perhaps and not yet read when the primary was lost. Undefined in any other state.
   */
  feedWithoutPrimary(after: number): Promise<FeedRow[]> | undefined;
  readonly blobs: Blobs;
  /** Rejects when the store cannot be reached; for readiness. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Reads of what is committed; inside a transaction, of that and its own writes. */
export interface Reader {
  get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined>;
  getMany<Name extends CollectionName>(collection: Name, ids: readonly IndexValue[]): Promise<(Records[Name] | undefined)[]>;
  /** The one record of a unique index. */
  find<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name] | undefined>;
  /** Records in the order of an index (or of their ids). */
  scan<Name extends CollectionName>(collection: Name, range?: Range<Name>): AsyncIterable<Records[Name]>;
  count<Name extends CollectionName>(collection: Name, range?: Range<Name>): Promise<number>;
}

export interface Range<Name extends CollectionName> extends Bounds {
  /** Absent: in order of `id`. */
  index?: IndexName<Name>;
}

export interface Bounds {
  /** Values of the index's first fields. */
  equals?: readonly IndexValue[];
  /** Bounds of the field after those: from inclusive, before exclusive. */
  from?: IndexValue;
  before?: IndexValue;
  reverse?: boolean;
  skip?: number;
  limit?: number;
  /** Starts after this record in the scan's direction; needs not exist any more. */
  after?: Position;
}

/** Where a record stands in an index: its values of the index's fields, then its id. */
export type Position = readonly IndexValue[];

export interface Transaction extends Reader {
  /** Refused with ALREADY_EXISTS when the id or a unique index is taken. */
  insert<Name extends CollectionName>(collection: Name, record: Records[Name]): Promise<void>;
  /**
   * Inserts many records whose newness the caller has just established with a read of this transaction: no look-up per record.
   * Should one exist after all, the transaction is not committed.
   */
  insertNew<Name extends CollectionName>(collection: Name, records: readonly Records[Name][]): void;
  /** Inserts or replaces. */
  put<Name extends CollectionName>(collection: Name, record: Records[Name]): Promise<void>;
  remove<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<void>;
}

/** Bytes by name: a folder, or GridFS. */
export interface Blobs {
  /** Replaces what was there, at once or not at all. */
  put(name: string, content: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }>;
  /** From an offset on; past the end there is nothing. */
  get(name: string, offset?: number): Promise<AsyncIterable<Uint8Array> | undefined>;
  remove(name: string): Promise<void>;
}
