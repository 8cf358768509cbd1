import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { type ReplicaSet, requireMongod, startReplicaSet } from "../../../test/helpers/mongod.ts";
import { memoryRows } from "../../slots/memory-rows-fixture.ts";
import { rowsContract } from "../../slots/rows-contract.ts";
import { mongoOwnershipRows } from "./ownership-rows.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-ownership-"));
let set: ReplicaSet | undefined;
let client: MongoClient | undefined;
let databases = 0;

beforeAll(async () => {
  if (!(await requireMongod())) return;
  set = await startReplicaSet({ folder });
  client = new MongoClient(set.uri, { writeConcern: { w: "majority" } });
}, 60_000);
afterAll(async () => {
  await client?.close();
  await set?.stop();
  rmSync(folder, { recursive: true, force: true });
});

// A machine without mongod, which is reported above, checks the other adapter once more.
rowsContract("mongo", async () => (client ? mongoOwnershipRows(client.db(`test_${databases++}`), { count: 4 }) : memoryRows(4)));
