import type { CollectionName, IndexValue, Records } from "./collections.ts";
import type { Blobs, Bounds, Store, StoreCopy } from "./store.ts";

/** Id of the setting with which no process commits any more. */
export const FENCED = "fenced";

/** A store in files, with what only such a store has: it can be copied and compared while it is used. */
export interface FileStore extends Store {
  readonly blobs: FileBlobs;
  readonly snapshot: (folder: string) => Promise<StoreCopy>;
  /** A record as it is stored: equal bytes are equal records. */
  encoded(collection: CollectionName, id: IndexValue): Buffer | undefined;
  /** Records of a collection, in the order of ids, that another store does not have or has with other content; of no store, all of them. */
  differing<Name extends CollectionName>(
    collection: Name,
    other: Pick<FileStore, "encoded"> | undefined,
    range?: Pick<Bounds, "after">,
  ): AsyncIterable<Records[Name]>;
  /** Other processes that have the store open. One that died does not count. */
  otherProcesses(): number[];
  /** From here on no process commits a transaction, also one that has been paused since before. Changes nothing if it is so already. */
  fence(): Promise<void>;
  unfence(): Promise<void>;
  /** Number of the last transaction: the same number of the same store means the same records. */
  readonly lastTransaction: number;
}

/** Blobs that are files. */
export interface FileBlobs extends Blobs {
  /** What a blob shares with its links only, as long as one of them exists: a blob that replaces it has another. Undefined if there is none. */
  identity(name: string): Promise<string | undefined>;
}
