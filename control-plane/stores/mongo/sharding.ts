import { type Db, type Document, MinKey, MongoServerError } from "mongodb";
import { ConfigError } from "../../../common/config.ts";
import { type CollectionName, indexesOf } from "../collections.ts";
import { RecordSlots, SLOTTED } from "../record-slots.ts";
import type { Scope } from "../scopes.ts";
import { ORDER_COLLECTION, slotOfOrder } from "./apply.ts";
import { fromDocument, SLOT, type StoredDocument } from "./documents.ts";

/** What a cluster's configuration says about a database. */
export interface ClusterLayout {
  readonly database: string;
  /** The shard that has the collections that are not divided. */
  readonly primary: string;
  readonly shards: readonly string[];
  /** The keys of the collections that are divided, by name. */
  readonly divided: ReadonlyMap<string, Document>;
  /** The ranges of slots of the order documents. Once these are divided, the ranges are whole, and all other collections repeat them. */
  readonly ranges: readonly SlotRange[];
}

/** Slots that are on one shard, in every collection. */
export interface SlotRange {
  readonly min: Document;
  readonly max: Document;
  readonly zone: string;
}

const KEY = { [SLOT]: 1, _id: 1 } as const;
const UNAUTHORIZED = 13;
const FILLED_AT_ONCE = 1_000;

/** The collections that are divided. The order documents come first, because their ranges are the pattern for later ones. */
const DIVIDED: readonly string[] = [ORDER_COLLECTION, ...SLOTTED];

/**
 * Divides the collections that have slots among the shards of a cluster: each slot is on one shard in all collections, so that a transaction
 * of one slot is committed by one shard. Changes nothing if they are divided already. Throws a `ConfigError` with the commands if the account
 * may not run them.
 */
export async function shardCollections(database: Db, slots: number): Promise<void> {
  const layout = await readLayout(database);
  const commands = shardingCommands(layout, slots);
  if (commands.length === 0) return;
  for (const name of undivided(layout)) await fillSlots(database, name, slots);
  try {
    for (const command of commands) await database.admin().command(command);
  } catch (error) {
    throw isUnauthorized(error) ? refusal(commands) : error;
  }
}

/** The commands that divide what is not divided yet, in order. */
export function shardingCommands(layout: ClusterLayout, slots: number): Document[] {
  const names = undivided(layout);
  if (names.length === 0) return [];
  const { database, shards } = layout;
  // A start that was killed before the division may have sent some of the ranges only.
  const isPattern = layout.divided.has(ORDER_COLLECTION) && layout.ranges.length > 0;
  const ranges = isPattern ? layout.ranges : rangesOf(layout, slots);
  // Ranges come before the division, which then puts the chunks of an empty collection where they belong.
  const ofCollection = (name: string): Document[] => [
    ...ranges.map(({ min, max, zone }) => ({ updateZoneKeyRange: `${database}.${name}`, min, max, zone })),
    { shardCollection: `${database}.${name}`, key: KEY },
  ];
  const zones = isPattern ? [] : shards.map((shard) => ({ addShardToZone: shard, zone: zoneOf(shard) }));
  return [{ enableSharding: database }, ...zones, ...names.flatMap(ofCollection)];
}

/** MongoDB divides no collection with a unique index that does not begin with the shard key; `prepareCollections` builds them as plain ones. */
export async function dropUniqueIndexes(database: Db): Promise<void> {
  const found = await database.listCollections({}, { nameOnly: true }).toArray();
  const existing = new Set(found.map(({ name }) => name));
  for (const name of SLOTTED.filter((slotted) => existing.has(slotted))) {
    const unique = new Set(Object.entries(indexesOf(name)).flatMap(([index, definition]) => (definition.unique ? [index] : [])));
    for (const index of await database.collection(name).listIndexes().toArray()) {
      if (index["unique"] && unique.has(index["name"])) await database.collection(name).dropIndex(index["name"]);
    }
  }
}

/** Adds the slot to documents of older releases. It may be stopped at any time: the next run finds those that still lack it. */
export async function fillSlots(database: Db, name: string, slots: number): Promise<void> {
  const collection = database.collection<StoredDocument>(name);
  await collection.createIndex(KEY);
  const records = new RecordSlots(slots);
  const projection = { organizationId: 1, fromOrganizationId: 1 };
  for (;;) {
    const documents = await collection.find({ [SLOT]: { $exists: false } }, { projection, limit: FILLED_AT_ONCE }).toArray();
    if (documents.length === 0) return;
    await collection.bulkWrite(
      documents.map((document) => {
        const filter = { _id: document._id, [SLOT]: { $exists: false } };
        return { updateOne: { filter, update: { $set: { [SLOT]: slotOfDocument(records, name, document) } } } };
      }),
      { ordered: false },
    );
  }
}

function slotOfDocument(records: RecordSlots, name: string, document: StoredDocument): number {
  if (name === ORDER_COLLECTION) return slotOfOrder(document._id as Scope);
  const slot = records.of(name as CollectionName, fromDocument(document));
  if (slot === undefined) throw new Error(`records of ${name} have no slot`);
  return slot;
}

function undivided({ database, divided }: ClusterLayout): string[] {
  for (const [name, key] of divided) {
    if (!DIVIDED.includes(name) || JSON.stringify(key) === JSON.stringify(KEY)) continue;
    throw new ConfigError([
      `MONGODB_URI: the collection ${database}.${name} is sharded by ${JSON.stringify(key)}; it must be sharded by ${JSON.stringify(KEY)} or not at all.`,
    ]);
  }
  return DIVIDED.filter((name) => !divided.has(name));
}

const zoneOf = (shard: string): string => `tributary-${shard}`;

/** Documents of no slot are where the collections are that are not divided; slots are divided evenly, in runs. */
function rangesOf({ primary, shards }: ClusterLayout, slots: number): SlotRange[] {
  const lowest = new MinKey();
  const from = (slot: number) => ({ [SLOT]: slot, _id: lowest });
  const starts = shards.map((_, index) => Math.ceil((index * slots) / shards.length));
  const shared = { min: { [SLOT]: lowest, _id: lowest }, max: from(0), zone: zoneOf(primary) };
  const ofShards = shards.map((shard, index) => ({
    min: from(starts[index] ?? 0),
    max: from(starts[index + 1] ?? slots),
    zone: zoneOf(shard),
  }));
  return [shared, ...ofShards];
}

async function readLayout(database: Db): Promise<ClusterLayout> {
  const config = database.client.db("config");
  const name = database.databaseName;
  const start = `${name}.`;
  try {
    const [own, shards, collections, tags] = await Promise.all([
      config.collection<Document & { _id: string }>("databases").findOne({ _id: name }),
      config
        .collection("shards")
        .find({}, { sort: { _id: 1 } })
        .toArray(),
      config
        .collection("collections")
        .find({ dropped: { $ne: true } })
        .toArray(),
      config
        .collection("tags")
        .find({ ns: start + ORDER_COLLECTION }, { sort: { min: 1 } })
        .toArray(),
    ]);
    const ofDatabase = collections.filter(({ _id, unsplittable }) => String(_id).startsWith(start) && !unsplittable);
    return {
      database: name,
      primary: String(own?.["primary"]),
      shards: shards.map(({ _id }) => String(_id)),
      divided: new Map(ofDatabase.map(({ _id, key }) => [String(_id).slice(start.length), numbersOf(key)])),
      ranges: tags.map(({ min, max, tag }) => ({ min, max, zone: tag })),
    };
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    throw new ConfigError([
      "MONGODB_URI: the account may not read the configuration of the sharded cluster. Give it the role clusterMonitor; or clusterManager, and it also divides the collections among the shards.",
    ]);
  }
}

/** A key as the shell writes it may have its numbers as floating-point ones. */
function numbersOf(key: Document): Document {
  return Object.fromEntries(Object.entries(key).map(([field, order]) => [field, typeof order === "string" ? order : Number(order)]));
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === UNAUTHORIZED;
}

function refusal(commands: readonly Document[]): ConfigError {
  const lines = commands.map((command) => `db.adminCommand(${shellText(command)})`).join("\n");
  return new ConfigError([
    `MONGODB_URI: the account may not divide collections among the shards. Give it the role clusterManager and start again, or run these commands in mongosh at a router with an account that has it, then start again:\n${lines}`,
  ]);
}

function shellText(value: unknown): string {
  if (value instanceof MinKey) return "MinKey()";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, field]) => `${name}: ${shellText(field)}`)
    .join(", ")}}`;
}
