import type { FeedPlace } from "../../common/feed-place.ts";
import type { FeedRow } from "../domain/records.ts";
import type { CollectionName, IndexName, IndexValue, Records } from "./collections.ts";
import type { OwnershipRows } from "./ownership-rows.ts";
import type { Scope, Scopes } from "./scopes.ts";

/**
 * The store port. Domain and services do not depend on the adapter: `embedded` (LMDB, one process) or `mongo` (a replica set, several
 * control planes). Both pass store-contract.ts.
 */
export interface Store extends Reader {
  /**
   * Runs `work` atomically, serialized with every other transaction of its scopes, and durable when it resolves. It may write only records
   * of its scopes (scopes.ts); without a scope it reads one moment of the store. `work` may run more than once, if another control plane
   * committed first: it must compute everything again and change nothing outside `tx`. Throws `NotOwner` if another control plane owns one of
   * its slots, before `work` runs or instead of the commit.
   */
  transaction<T>(scopes: Scopes, work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Into how many slots organizations are divided (common/slots.ts); 1 for a store of one process. */
  readonly slots: number;
  /** Whether this control plane owns a slot, as far as it knows. A transaction over any other slot throws `NotOwner`. */
  owns(slot: number): boolean;
  /** The rows of the planes that share the store; undefined for a store of one process. */
  readonly ownership: OwnershipRows | undefined;
  /**
   * How many slots one transaction may name: 1 where slots are on different machines, so that no transaction is committed by the shards of two slots.
   * A transaction of more is refused, except one of the scope `every`.
   */
  readonly slotsPerTransaction: number;
  /** How many new records one transaction should write at most, because other transactions wait for it. */
  readonly rowsPerTransaction: number;
  /** Calls the listener soon after any control plane may have appended to the feed. Returns the function that unsubscribes. */
  onFeed(listener: () => void): () => void;
  /**
   * Feed rows after a place while the store's primary is out of reach: every change that counts, because enough of the other members were
   * asked. Undefined in any other state.
   */
  feedWithoutPrimary(after: FeedPlace): Promise<FeedRow[] | undefined> | undefined;
  /** Bytes that are not part of records. */
  readonly blobs: Blobs;
  /**
   * Copies records and blobs as of one moment into a new folder, which opens as a store of its own, while transactions go on. Absent for a
   * database that has tools of its own for it.
   */
  readonly snapshot?: (folder: string) => Promise<StoreCopy>;
  /** Rejects if the store cannot be reached; for the readiness check. */
  ping(): Promise<void>;
  /** Waits for running transactions and closes the store. */
  close(): Promise<void>;
}

/** A copy of a store, open for reading. */
export interface StoreCopy extends Reader {
  close(): Promise<void>;
}

/** Reads committed records; inside a transaction, also its own writes. */
export interface Reader {
  /** The record of an id. */
  get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined>;
  /** The records of ids, in their order; undefined for a missing one. */
  getMany<Name extends CollectionName>(collection: Name, ids: readonly IndexValue[]): Promise<(Records[Name] | undefined)[]>;
  /** The record of a unique index. */
  find<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name] | undefined>;
  /** For each value of an index's first field its records, in the order of the index. */
  listMany<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name][][]>;
  /** Records in the order of an index, or of their ids. */
  scan<Name extends CollectionName>(collection: Name, range?: Range<Name>): AsyncIterable<Records[Name]>;
  /** Number of records of a range. */
  count<Name extends CollectionName>(collection: Name, range?: Range<Name>): Promise<number>;
}

/** A part of a collection in the order of one index. */
export interface Range<Name extends CollectionName> extends Bounds {
  /** Absent: in order of `id`. */
  index?: IndexName<Name>;
}

/** Bounds, direction and page of a range. */
export interface Bounds {
  /** Values of the leading fields of the index. */
  equals?: readonly IndexValue[];
  /** Bounds of the next field: `from` is inclusive, `before` exclusive. */
  from?: IndexValue;
  before?: IndexValue;
  reverse?: boolean;
  skip?: number;
  limit?: number;
  /** Starts after this position in scan direction; its record may have been removed. */
  after?: Position;
}

/** Position of a record in an index: the values of the indexed fields, then its id. */
export type Position = readonly IndexValue[];

/** Reads and writes that are committed together. */
export interface Transaction extends Reader {
  /** As of the store. */
  readonly slots: number;
  /** What it may write. */
  readonly scopes: readonly Scope[];
  /** Throws ALREADY_EXISTS if the id or a unique index value is taken. */
  insert<Name extends CollectionName>(collection: Name, record: Records[Name]): Promise<void>;
  /**
   * Inserts many records without a look-up per record. The caller must have read in this transaction that they do not exist; if one exists
   * after all, the transaction is not committed.
   */
  insertNew<Name extends CollectionName>(collection: Name, records: readonly Records[Name][]): void;
  /** Inserts or replaces. */
  put<Name extends CollectionName>(collection: Name, record: Records[Name]): Promise<void>;
  /** Removes a record; a no-op if it does not exist. */
  remove<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<void>;
}

/** Bytes by name, in a folder or in GridFS. */
export interface Blobs {
  /** Stores or replaces a blob, atomically. */
  put(name: string, content: AsyncIterable<Uint8Array>): Promise<{ bytes: number; sha256: string }>;
  /** Reads from an offset; empty past the end. Undefined if the blob does not exist. */
  get(name: string, offset?: number): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Removes a blob; a no-op if it does not exist. */
  remove(name: string): Promise<void>;
}
