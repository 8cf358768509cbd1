import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { type ReplicaSet, startReplicaSet } from "./mongod.ts";

// `make test` sets "none" if this machine has no MongoDB; the tests are then skipped. In CI, the run fails earlier.
const onMongo = process.env["MONGOD"] === "none" ? test.skip : test;

let folder: string;
let set: ReplicaSet | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tributary-mongod-"));
});

afterEach(async () => {
  await set?.stop();
  set = undefined;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

onMongo(
  "a set of one node runs transactions: what is aborted is not there",
  async () => {
    set = await startReplicaSet({ folder: join(folder, "one") });
    const client = new MongoClient(set.uri);
    try {
      const rows = client.db("check").collection("rows");
      await client.withSession((session) => session.withTransaction(() => rows.insertOne({ kept: true }, { session })));
      const failing = client.withSession((session) =>
        session.withTransaction(async () => {
          await rows.insertOne({ kept: false }, { session });
          throw new Error("changed our mind");
        }),
      );
      await expect(failing).rejects.toThrow("changed our mind");
      expect(await rows.find({}, { projection: { _id: 0 } }).toArray()).toEqual([{ kept: true }]);
    } finally {
      await client.close();
    }
  },
  60_000,
);

onMongo(
  "a set of three survives the loss of its primary, and takes it back",
  async () => {
    set = await startReplicaSet({ nodes: 3, folder: join(folder, "three"), electionTimeoutMs: 1_000 });
    const first = await set.primary();
    await set.kill(first);
    expect(await set.primary()).not.toBe(first);
    await set.restart(first);
    const client = new MongoClient(set.uri, { writeConcern: { w: 3 } });
    try {
      await expect(client.db("check").collection("rows").insertOne({ after: true })).resolves.toMatchObject({ acknowledged: true });
    } finally {
      await client.close();
    }
  },
  60_000,
);
