import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Database, open, type RootDatabase } from "lmdb";
import { AppError } from "../../../common/errors.ts";
import { COLLECTION_NAMES, type CollectionName, type IndexDefinition, type IndexValue, indexesOf } from "../collections.ts";
import { Overlay, type Write } from "../overlay.ts";
import type { Blobs, Store, Transaction } from "../store.ts";
import { WriteQueue } from "../write-queue.ts";
import { folderBlobs } from "./blobs.ts";
import type { IndexDatabase, IndexTable } from "./index-table.ts";
import { PackedIndex } from "./packed-index.ts";
import { PlainIndex } from "./plain-index.ts";
import { EmbeddedReader, type Tables } from "./reader.ts";
import { encode } from "./record-format.ts";

const ONLY_NEW = { noOverwrite: true };

interface Places {
  readonly records: Database<Buffer, IndexValue>;
  readonly indexes: readonly IndexTable[];
}

/** The default store: LMDB in a folder, for one control plane. */
export function openEmbeddedStore(folder: string): Store {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, "store.lmdb");
  const root = open({ path, maxDbs: 128, encoding: "binary", noSubdir: true });
  for (const file of [path, `${path}-lock`]) chmodSync(file, 0o600);
  return new EmbeddedStore(root, folderBlobs(join(folder, "blobs")));
}

class EmbeddedStore extends EmbeddedReader implements Store {
  readonly blobs: Blobs;
  // A transaction is one stretch of work on the event loop: 400 settled calls are about 30 ms of it.
  readonly rowsPerTransaction = 400;
  readonly #root: RootDatabase;
  readonly #queue = new WriteQueue();
  readonly #listeners = new Set<() => void>();
  readonly #placesOf = new Map<CollectionName, Places>();

  constructor(root: RootDatabase, blobs: Blobs) {
    super(openTables(root));
    this.#root = root;
    this.blobs = blobs;
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { result, writes } = await this.#queue.run(async () => {
      const overlay = new Overlay(this);
      const result = await work(overlay);
      const { writes } = overlay;
      if (writes.length > 0) this.#root.transactionSync(() => this.#apply(writes));
      return { result, writes };
    });
    // Committed is visible, flushed is durable. Waiting here, outside the queue, lets one flush serve many transactions.
    if (writes.length > 0) await this.#root.flushed;
    if (writes.some((write) => write.collection === "feed")) for (const listener of this.#listeners) listener();
    return result;
  }

  onFeed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** It is its own primary. */
  feedWithoutPrimary(): undefined {
    return undefined;
  }

  async ping(): Promise<void> {
    await this.get("settings", "schema");
  }

  async close(): Promise<void> {
    await this.#queue.idle();
    await this.#root.flushed;
    await this.#root.close();
  }

  #apply(writes: readonly Write[]): void {
    // A collection after the other, and of it an index after the other: neighbours in one tree are near each other in memory.
    for (const [collection, group] of Map.groupBy(writes, (write) => write.collection)) {
      const { records, indexes } = this.#places(collection);
      for (const write of group) applyRecord(records, write);
      for (const index of indexes) index.apply(group);
    }
  }

  /** Where a collection's records stand, and its indexes: looked up once, not for each of the thousands of rows of a second. */
  #places(collection: CollectionName): Places {
    const known = this.#placesOf.get(collection);
    if (known) return known;
    const places: Places = {
      records: this.tables.records(collection),
      indexes: Object.keys(indexesOf(collection)).map((name) => this.tables.index(collection, name)),
    };
    this.#placesOf.set(collection, places);
    return places;
  }
}

function applyRecord(records: Places["records"], { collection, id, before, after }: Write): void {
  if (!after) records.removeSync(id);
  else if (before) records.putSync(id, encode(collection, after));
  // Somebody claimed newness without looking: throwing here undoes the whole transaction.
  else if (!putNew(records, id, encode(collection, after))) {
    throw new AppError("ALREADY_EXISTS", "It exists already.", { internal: `${collection}.id is taken` });
  }
}

/** Whether it was new. The library's types do not tell that it says so. */
function putNew(records: Places["records"], id: IndexValue, bytes: Buffer): boolean {
  return records.putSync(id, bytes, ONLY_NEW) as unknown as boolean;
}

function openTables(root: RootDatabase): Tables {
  const records = new Map<CollectionName, Database<Buffer, IndexValue>>();
  const indexes = new Map<string, IndexTable>();
  for (const collection of COLLECTION_NAMES) {
    records.set(collection, root.openDB<Buffer, IndexValue>(collection, { encoding: "binary" }));
    for (const [name, definition] of Object.entries(indexesOf(collection))) {
      const key = `${collection}.${name}`;
      indexes.set(key, openIndex(root.openDB<Buffer, IndexValue[]>(key, { encoding: "binary" }), definition));
    }
  }
  return {
    records: (collection) => known(records.get(collection), collection),
    index: (collection, index) => known(indexes.get(`${collection}.${index}`), `${collection}.${index}`),
  };
}

function openIndex(database: IndexDatabase, definition: IndexDefinition): IndexTable {
  return definition.span === undefined ? new PlainIndex(database, definition) : new PackedIndex(database, definition, definition.span);
}

function known<T>(table: T | undefined, name: string): T {
  if (!table) throw new Error(`there is no table ${name}`);
  return table;
}
