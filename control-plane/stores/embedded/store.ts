import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { AppError } from "../../../common/errors.ts";
import type { Setting } from "../../domain/records.ts";
import { COLLECTION_NAMES, type CollectionName, type IndexDefinition, type IndexValue, indexesOf, PACKED_ROWS } from "../collections.ts";
import { FENCED, type FileStore } from "../file-store.ts";
import { Overlay, type Write } from "../overlay.ts";
import { listOf, type Scopes } from "../scopes.ts";
import type { StoreCopy, Transaction } from "../store.ts";
import { WriteQueue } from "../write-queue.ts";
import { type FolderBlobs, folderBlobs } from "./blobs.ts";
import { CACHED, CachedTable } from "./cached-table.ts";
import { ForeignCommits } from "./foreign-commits.ts";
import type { IndexDatabase, IndexTable } from "./index-table.ts";
import { lockHolders } from "./lock-holders.ts";
import { PackedEntries } from "./packed-entries.ts";
import { PackedIndex } from "./packed-index.ts";
import { PackedTable } from "./packed-table.ts";
import { PlainIndex } from "./plain-index.ts";
import { PlainTable } from "./plain-table.ts";
import { EmbeddedReader, type Tables } from "./reader.ts";
import { fieldsOf } from "./record-format.ts";
import type { RecordDatabase, RecordTable } from "./record-table.ts";

const FILE = "store.lmdb";
const BLOB_FOLDER = "blobs";
const OPTIONS = { maxDbs: 128, encoding: "binary", noSubdir: true } as const;

interface CollectionTables {
  readonly records: RecordTable;
  readonly indexes: readonly IndexTable[];
}

interface StoreOptions {
  /** Several are for tests of what only MongoDB has otherwise. */
  readonly slots?: number;
  /** Keeps decoded records in memory: only for a process beside which no other writes. */
  readonly keepsRecords?: boolean;
}

/** Opens the default store: LMDB in a folder, for one control plane. */
export function openEmbeddedStore(folder: string, { slots = 1, keepsRecords = false }: StoreOptions = {}): FileStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, FILE);
  const root = open({ path, ...OPTIONS });
  for (const file of [path, `${path}-lock`]) chmodSync(file, 0o600);
  const files = { root, lockFile: `${path}-lock`, blobs: folderBlobs(join(folder, BLOB_FOLDER)) };
  return new EmbeddedStore(files, { slots, kept: keepsRecords ? [] : undefined });
}

class EmbeddedStore extends EmbeddedReader implements FileStore {
  readonly blobs: FolderBlobs;
  readonly slots: number;
  readonly slotsPerTransaction: number;
  // A transaction blocks the event loop; 400 settled calls take about 30 ms.
  readonly rowsPerTransaction = 400;
  readonly #root: RootDatabase;
  readonly #lockFile: string;
  readonly #queue = new WriteQueue();
  readonly #listeners = new Set<() => void>();
  readonly #tablesOf = new Map<CollectionName, CollectionTables>();

  /** Absent: no records are kept. */
  readonly #foreign: ForeignCommits | undefined;

  constructor(
    { root, lockFile, blobs }: { root: RootDatabase; lockFile: string; blobs: FolderBlobs },
    { slots, kept }: { slots: number; kept: CachedTable[] | undefined },
  ) {
    super(openTables(root, kept));
    this.#lockFile = lockFile;
    this.slots = slots;
    this.slotsPerTransaction = slots;
    this.#root = root;
    this.blobs = blobs;
    const forget = () => {
      // Reads of this turn of the event loop would go on to see the store as it was.
      root.resetReadTxn();
      for (const table of kept ?? []) table.forget();
    };
    this.#foreign = kept && new ForeignCommits(() => this.lastTransaction, forget);
  }

  async transaction<T>(scopes: Scopes, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { result, groups } = await this.#queue.run(async () => {
      const overlay = new Overlay(this, { scopes: listOf(scopes), slots: this.slots });
      const result = await work(overlay);
      const groups = overlay.writesByCollection;
      if (groups.size > 0) this.#commit(groups);
      return { result, groups };
    });
    // Committed writes are visible, flushed writes are durable. Waiting outside the queue lets one flush serve many transactions.
    if (groups.size > 0) await this.#root.flushed;
    if (groups.has("feed")) for (const listener of this.#listeners) listener();
    return result;
  }

  readonly ownership = undefined;

  /** One process has the store, so it owns all of it. */
  owns(): boolean {
    return true;
  }

  onFeed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The embedded store has no primary to lose. */
  feedWithoutPrimary(): undefined {
    return undefined;
  }

  /** LMDB copies its pages in a thread, under a read transaction; blobs are written before the records that name them. */
  async snapshot(folder: string): Promise<StoreCopy> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, FILE);
    await this.blobs.linkInto(join(folder, BLOB_FOLDER), this.#root.backup(path, true));
    chmodSync(path, 0o600);
    return new EmbeddedCopy(open({ path, ...OPTIONS, readOnly: true }));
  }

  otherProcesses(): number[] {
    this.#root.readerCheck();
    // A table with a header: process, thread, transaction. A process between two reads may be absent.
    const lines = this.#root.readerList().split("\n");
    const readers = lines.map((line) => Number(line.trimStart().split(" ", 1)[0] || Number.NaN)).filter(Number.isInteger);
    return [...new Set([...readers, ...lockHolders(this.#lockFile)])].filter((id) => id !== process.pid);
  }

  async fence(): Promise<void> {
    await this.#setFence({ id: FENCED, value: "true" });
  }

  async unfence(): Promise<void> {
    await this.#setFence(undefined);
  }

  async #setFence(after: Setting | undefined): Promise<void> {
    const settings = this.#collectionTables("settings").records;
    await this.#queue.run(async () =>
      this.#root.transactionSync(() => {
        const before = settings.get(FENCED);
        if (before ?? after) settings.apply([{ collection: "settings", id: FENCED, before, after }]);
      }),
    );
    await this.#root.flushed;
  }

  get lastTransaction(): number {
    return (this.#root.getStats() as { lastTxnId: number }).lastTxnId;
  }

  async ping(): Promise<void> {
    await this.get("settings", "schema");
  }

  async close(): Promise<void> {
    this.#foreign?.stop();
    await this.#queue.idle();
    await this.#root.flushed;
    await this.#root.close();
  }

  /** By collection and index, because keys of one tree are close in memory. */
  #commit(groups: ReadonlyMap<CollectionName, readonly Write[]>): void {
    this.#root.transactionSync(() => this.#apply(groups));
    this.#foreign?.committed();
    for (const [collection, group] of groups) this.#collectionTables(collection).records.committed?.(group);
  }

  #apply(groups: ReadonlyMap<CollectionName, readonly Write[]>): void {
    // Under the lock of LMDB that all processes share.
    if (this.#collectionTables("settings").records.get(FENCED)) {
      throw new AppError("UNAVAILABLE", "The platform moves to another store.", { internal: "the embedded store is fenced" });
    }
    for (const [collection, group] of groups) {
      const { records, indexes } = this.#collectionTables(collection);
      records.apply(group);
      const packed = new PackedEntries();
      for (const index of indexes) index.apply(group, packed);
    }
  }

  /** Records and indexes of a collection, looked up once instead of per row. */
  #collectionTables(collection: CollectionName): CollectionTables {
    const known = this.#tablesOf.get(collection);
    if (known) return known;
    const tables: CollectionTables = {
      records: this.tables.records(collection),
      indexes: Object.keys(indexesOf(collection)).map((name) => this.tables.index(collection, name)),
    };
    this.#tablesOf.set(collection, tables);
    return tables;
  }
}

class EmbeddedCopy extends EmbeddedReader implements StoreCopy {
  readonly #root: RootDatabase;

  constructor(root: RootDatabase) {
    super(openTables(root));
    this.#root = root;
  }

  async close(): Promise<void> {
    await this.#root.close();
  }
}

/** Tables that keep records are added to `kept`; without it none do. */
function openTables(root: RootDatabase, kept?: CachedTable[]): Tables {
  const records = new Map<CollectionName, RecordTable>();
  const indexes = new Map<string, IndexTable>();
  for (const collection of COLLECTION_NAMES) {
    const table = openRecords(root.openDB<Buffer, IndexValue | IndexValue[]>(collection, { encoding: "binary" }), collection);
    const cached = kept && CACHED.has(collection) ? new CachedTable(table) : undefined;
    if (cached) kept?.push(cached);
    records.set(collection, cached ?? table);
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

function openRecords(database: RecordDatabase, collection: CollectionName): RecordTable {
  const span = PACKED_ROWS[collection];
  if (span === undefined) return new PlainTable(database, collection);
  // The id is the first field of a row.
  return new PackedTable(database, { collection, span, names: fieldsOf(collection).slice(1) });
}

function openIndex(database: IndexDatabase, definition: IndexDefinition): IndexTable {
  return definition.span === undefined ? new PlainIndex(database, definition) : new PackedIndex(database, definition, definition.span);
}

function known<T>(table: T | undefined, name: string): T {
  if (!table) throw new Error(`there is no table ${name}`);
  return table;
}
