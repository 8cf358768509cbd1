import { type Db, type Document, MinKey, MongoServerError } from "mongodb";
import { SLOTTED } from "../record-slots.ts";
import { type ClusterLayout, shardCollections, shardingCommands } from "./sharding.ts";

const KEY = { slot: 1, _id: 1 };
const lowest = new MinKey();
const from = (slot: number) => ({ slot, _id: lowest });
const ALL = ["transactionOrder", ...SLOTTED];

function layout(changes: Partial<ClusterLayout> = {}): ClusterLayout {
  return { database: "tributary", primary: "b", shards: ["a", "b"], divided: new Map(), ranges: [], ...changes };
}

test("every collection with slots is divided by slot, the same slots on the same shard, and documents of no slot at the primary shard", () => {
  const commands = shardingCommands(layout(), 256);
  expect(commands.slice(0, 7)).toEqual([
    { enableSharding: "tributary" },
    { addShardToZone: "a", zone: "tributary-a" },
    { addShardToZone: "b", zone: "tributary-b" },
    { updateZoneKeyRange: "tributary.transactionOrder", min: { slot: lowest, _id: lowest }, max: from(0), zone: "tributary-b" },
    { updateZoneKeyRange: "tributary.transactionOrder", min: from(0), max: from(128), zone: "tributary-a" },
    { updateZoneKeyRange: "tributary.transactionOrder", min: from(128), max: from(256), zone: "tributary-b" },
    { shardCollection: "tributary.transactionOrder", key: KEY },
  ]);
  const divided = commands.flatMap((command) => (command["shardCollection"] === undefined ? [] : [command["shardCollection"]]));
  expect(divided).toEqual(ALL.map((name) => `tributary.${name}`));
  const ranges = (name: string) =>
    commands.filter((command) => command["updateZoneKeyRange"] === `tributary.${name}`).map(({ min, max, zone }) => ({ min, max, zone }));
  for (const name of SLOTTED) expect(ranges(name)).toEqual(ranges("transactionOrder"));
});

test("three shards get all slots, none of them twice", () => {
  const bounds = shardingCommands(layout({ shards: ["a", "b", "c"] }), 256)
    .filter((command) => command["updateZoneKeyRange"] === "tributary.ledger")
    .slice(1)
    .map(({ min, max }) => [min.slot, max.slot]);
  expect(bounds).toEqual([
    [0, 86],
    [86, 171],
    [171, 256],
  ]);
});

test("a collection of a later release gets the ranges that the others have; when all are divided there is nothing to do", () => {
  const ranges = [{ min: from(0), max: from(256), zone: "chosen" }];
  const divided = new Map(ALL.map((name) => [name, KEY] as const));
  expect(shardingCommands(layout({ divided, ranges }), 256)).toEqual([]);
  divided.delete("mcpServers");
  expect(shardingCommands(layout({ divided, ranges }), 256)).toEqual([
    { enableSharding: "tributary" },
    { updateZoneKeyRange: "tributary.mcpServers", ...ranges[0] },
    { shardCollection: "tributary.mcpServers", key: KEY },
  ]);
});

test("ranges that a start was killed among are sent again, all of them", () => {
  const whole = shardingCommands(layout(), 256);
  const first = { min: { slot: lowest, _id: lowest }, max: from(0), zone: "tributary-b" };
  expect(shardingCommands(layout({ ranges: [first] }), 256)).toEqual(whole);
  const divided = new Map([["ledger", KEY]]);
  const left = whole.filter(({ updateZoneKeyRange, shardCollection }) => (updateZoneKeyRange ?? shardCollection) !== "tributary.ledger");
  expect(shardingCommands(layout({ divided, ranges: [first] }), 256)).toEqual(left);
});

test("a collection that is divided by another key is refused", () => {
  const divided = new Map([["ledger", { _id: "hashed" }]]);
  expect(() => shardingCommands(layout({ divided }), 256)).toThrow(/tributary\.ledger is sharded by \{"_id":"hashed"\}; it must be/);
});

describe("at a router", () => {
  test("the commands are sent in order, and at the next start none", async () => {
    const cluster = fakeRouter();
    await shardCollections(cluster.database, 256);
    expect(cluster.sent).toEqual(shardingCommands(layout(), 256));
    cluster.configured["collections"] = ALL.map((name) => ({ _id: `tributary.${name}`, key: KEY }));
    await shardCollections(cluster.database, 256);
    expect(cluster.sent).toHaveLength(shardingCommands(layout(), 256).length);
  });

  test("an account without the right is refused with every command as the shell takes it", async () => {
    const { database } = fakeRouter({ refuses: "enableSharding" });
    const refused = shardCollections(database, 256);
    await expect(refused).rejects.toThrow(/Give it the role clusterManager and start again, or run these commands in mongosh/);
    await expect(refused).rejects.toThrow('db.adminCommand({shardCollection: "tributary.ledger", key: {slot: 1, _id: 1}})');
    await expect(refused).rejects.toThrow("min: {slot: MinKey(), _id: MinKey()}, max: {slot: 0, _id: MinKey()}");
  });

  test("an account that may not read the cluster's configuration gets an error that names the role it needs", async () => {
    await expect(shardCollections(fakeRouter({ refuses: "find" }).database, 256)).rejects.toThrow(/Give it the role clusterMonitor/);
  });
});

/** Answers as a router of an empty cluster would, and records the commands. */
function fakeRouter({ refuses }: { refuses?: string } = {}) {
  const sent: Document[] = [];
  const configured: Record<string, Document[]> = {
    databases: [{ _id: "tributary", primary: "b" }],
    shards: [{ _id: "a" }, { _id: "b" }],
    collections: [{ _id: "config.system.sessions", key: { _id: 1 } }],
    tags: [],
  };
  const answer = async <T>(name: string, found: T): Promise<T> => {
    if (name === refuses) throw new MongoServerError({ message: "not authorized", code: 13 });
    return found;
  };
  const config = {
    collection: (name: string) => ({
      findOne: () => answer("find", configured[name]?.[0]),
      find: () => ({ toArray: () => answer("find", configured[name] ?? []) }),
    }),
  };
  const database = {
    databaseName: "tributary",
    client: { db: () => config },
    collection: () => ({ createIndex: async () => "", find: () => ({ toArray: async () => [] }) }),
    admin: () => ({
      command: (command: Document) => {
        sent.push(command);
        return answer(Object.keys(command)[0] ?? "", {});
      },
    }),
  };
  return { database: database as unknown as Db, sent, configured };
}
