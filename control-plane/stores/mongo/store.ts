import { type CommandStartedEvent, type Db, MongoClient, type MongoClientOptions, ReadConcern } from "mongodb";
import { type Clock, systemClock } from "../../../common/clock.ts";
import type { FeedPlace } from "../../../common/feed-place.ts";
import { type Random, systemRandom } from "../../../common/random.ts";
import type { FeedRow } from "../../domain/records.ts";
import type { Fence } from "../fence.ts";
import type { OwnershipRows } from "../ownership-rows.ts";
import { RecordSlots } from "../record-slots.ts";
import { listOf, type Scopes } from "../scopes.ts";
import type { Blobs, Store, Transaction } from "../store.ts";
import { AbandonedTransactions, connectionName } from "./abandoned.ts";
import { ORDER_COLLECTION } from "./apply.ts";
import { BLOB_COLLECTION, gridBlobs } from "./blobs.ts";
import { within } from "./deadline.ts";
import { asStoreError } from "./driver-errors.ts";
import { FeedWatch } from "./feed-watch.ts";
import { GatheredReader } from "./gathered-reader.ts";
import { prepareCollections } from "./indexes.ts";
import { mongoOwnershipRows } from "./ownership-rows.ts";
import { PrimaryWatch } from "./primary-watch.ts";
import { QuorumFeed, SECONDARY_MS } from "./quorum-feed.ts";
import { dropUniqueIndexes, shardCollections } from "./sharding.ts";
import { Transactions } from "./transactions.ts";

/** Address, limits and ports of the store. */
export interface MongoStoreOptions {
  readonly uri: string;
  /** Absent: the database of the address, else "tributary". */
  readonly database?: string;
  /** Limit of a transaction, waiting included. */
  readonly transactionMs?: number;
  /** Limit of one read outside a transaction. */
  readonly readMs?: number;
  readonly serverSelectionMs?: number;
  readonly socketMs?: number;
  readonly poolSizeMax?: number;
  /** A transaction of any process that has been idle for so long is ended when others wait for it. */
  readonly abandonedMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Absent: this control plane owns every slot. */
  readonly fence?: Fence;
  /** Absent: asked of the server. True treats a replica set as a cluster whose collections are divided by slot, for tests without a router. */
  readonly sharded?: boolean;
  /** Follows the commands that are sent, for tests. */
  readonly onCommand?: (command: CommandStartedEvent) => void;
}

const BUILD_WAIT_MS = 60_000;
const SLOTS = 256;

type Settings = Required<Omit<MongoStoreOptions, Absent>> & Pick<MongoStoreOptions, Absent>;
type Absent = "database" | "fence" | "sharded" | "onCommand";

/** Opens the store for several control planes: a MongoDB replica set or a sharded cluster, 6.0 or newer. */
export async function openMongoStore(options: MongoStoreOptions): Promise<Store> {
  const settings: Settings = {
    transactionMs: 10_000,
    readMs: 10_000,
    serverSelectionMs: 5_000,
    socketMs: 5_000,
    poolSizeMax: 50,
    abandonedMs: 3_000,
    clock: systemClock,
    random: systemRandom,
    ...options,
  };
  // Building an index over much data takes longer than any later answer may take, so the start has a client without socket timeout. Its
  // queue timeout is long too: checking forty collections needs more connections at once than a busy server gives in two seconds.
  const builder = new MongoClient(settings.uri, { ...clientOptions(settings), socketTimeoutMS: 0, waitQueueTimeoutMS: BUILD_WAIT_MS });
  let sharded: boolean;
  let appName: string;
  try {
    const database = databaseOf(builder, options.database);
    appName = connectionName(database.databaseName);
    const isRouter = await isBehindRouter(database);
    sharded = options.sharded ?? isRouter;
    if (isRouter) await dropUniqueIndexes(database);
    await prepareCollections(database, { others: [ORDER_COLLECTION, BLOB_COLLECTION], sharded });
    if (isRouter) await shardCollections(database, SLOTS);
  } finally {
    await builder.close();
  }
  const client = new MongoClient(settings.uri, { ...clientOptions(settings), appName, monitorCommands: options.onCommand !== undefined });
  if (options.onCommand) client.on("commandStarted", options.onCommand);
  const primary = new PrimaryWatch(client);
  await client.connect();
  const database = databaseOf(client, options.database);
  const { uri } = settings;
  const quorum = new QuorumFeed({ uri, database: database.databaseName, client, primary, options: clientOptions(settings) });
  return new MongoStore({ client, quorum, sharded }, database, settings);
}

class MongoStore extends GatheredReader implements Store {
  readonly blobs: Blobs;
  readonly ownership: OwnershipRows;
  readonly slots = SLOTS;
  readonly slotsPerTransaction: number;
  // The event loop is free while the database works. A large batch shares the majority wait and the sums that many calls change.
  readonly rowsPerTransaction = 800;
  readonly #client: MongoClient;
  readonly #transactions: Transactions;
  readonly #fence: Fence | undefined;
  readonly #feed: FeedWatch;
  readonly #ping: () => Promise<unknown>;
  readonly #quorum: QuorumFeed;
  readonly #clock: Clock;

  constructor(
    { client, quorum, sharded }: { client: MongoClient; quorum: QuorumFeed; sharded: boolean },
    database: Db,
    { clock, random, readMs, transactionMs, poolSizeMax, abandonedMs, fence }: Settings,
  ) {
    const guard = <T>(operation: Promise<T>) => within(clock, readMs, operation).catch(rethrow);
    const records = new RecordSlots(SLOTS);
    super({ database, maxTimeMs: readMs, guard, ...(sharded ? { targets: { records, own: undefined } } : {}) });
    this.slotsPerTransaction = sharded ? 1 : SLOTS;
    this.blobs = gridBlobs(database);
    const abandoned = new AbandonedTransactions({ client, database: database.databaseName, clock, abandonedMs });
    this.ownership = mongoOwnershipRows(database, { count: this.slots, clock, sharded, abandoned });
    this.#client = client;
    this.#transactions = new Transactions({
      client,
      database,
      clock,
      random,
      limitMs: transactionMs,
      abandoned,
      records,
      sharded,
      slotsPerTransaction: this.slotsPerTransaction,
      fence,
      // The other connections are for reads.
      runningMax: Math.max(1, Math.floor(poolSizeMax / 2)),
    });
    this.#fence = fence;
    this.#feed = new FeedWatch(database, clock);
    this.#ping = () => guard(database.command({ ping: 1 }));
    this.#clock = clock;
    this.#quorum = quorum;
  }

  async transaction<T>(scopes: Scopes, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { result, writes } = await this.#transactions.run(listOf(scopes), work);
    if (writes.some((write) => write.collection === "feed")) this.#feed.notify();
    return result;
  }

  owns(slot: number): boolean {
    return this.#fence === undefined || this.#fence.epochOf(slot) !== undefined;
  }

  onFeed(listener: () => void): () => void {
    return this.#feed.listen(listener);
  }

  feedWithoutPrimary(after: FeedPlace): Promise<FeedRow[] | undefined> {
    return within(this.#clock, SECONDARY_MS, this.#quorum.read(after)).catch(rethrow);
  }

  async ping(): Promise<void> {
    await this.#ping();
  }

  async close(): Promise<void> {
    await this.#transactions.idle();
    // Closed together: the change stream waits up to a second for an answer, which closing the client interrupts.
    await Promise.all([this.#feed.close(), this.#quorum.close(), this.#client.close()]);
  }
}

/** Sets every limit explicitly, because most of the driver's defaults are half a minute or unlimited. */
function clientOptions({ serverSelectionMs, socketMs, poolSizeMax }: Settings): MongoClientOptions {
  return {
    appName: "tributary",
    writeConcern: { w: "majority", journal: true },
    readConcern: new ReadConcern("majority"),
    readPreference: "primary",
    retryWrites: true,
    retryReads: true,
    maxPoolSize: poolSizeMax,
    maxConnecting: 2,
    waitQueueTimeoutMS: 2_000,
    serverSelectionTimeoutMS: serverSelectionMs,
    socketTimeoutMS: socketMs,
    heartbeatFrequencyMS: 500,
    connectTimeoutMS: 2_000,
    useBigInt64: true,
    ignoreUndefined: true,
  };
}

/** Sets the concerns again, because options in the address must not weaken them. */
function databaseOf(client: MongoClient, name: string | undefined): Db {
  const named = client.options.dbName === "test" ? "tributary" : client.options.dbName;
  return client.db(name ?? named, {
    writeConcern: { w: "majority", journal: true },
    readConcern: new ReadConcern("majority"),
    readPreference: "primary",
  });
}

/** Whether the server is a router of a sharded cluster. Refuses a standalone server. */
async function isBehindRouter(database: Db): Promise<boolean> {
  const hello = await database.admin().command({ hello: 1 });
  if (hello["msg"] === "isdbgrid") return true;
  if (hello["setName"]) return false;
  throw new Error("MongoDB must run as a replica set (one node is enough): a standalone server has no transactions");
}

function rethrow(thrown: unknown): never {
  throw asStoreError(thrown);
}
