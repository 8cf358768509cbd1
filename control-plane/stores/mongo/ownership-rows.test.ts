import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { orElse } from "../../../common/ignore.ts";
import { type ReplicaSet, requireMongod, startReplicaSet } from "../../../test/helpers/mongod.ts";
import { memoryRows } from "../../slots/memory-rows-fixture.ts";
import { rowsContract } from "../../slots/rows-contract.ts";
import { slotScope } from "../scopes.ts";
import { connectionName } from "./abandoned.ts";
import { ORDER_COLLECTION } from "./apply.ts";
import { mongoOwnershipRows } from "./ownership-rows.ts";
import { openMongoStore } from "./store.ts";

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

/** What a killed process leaves: a transaction that wrote the order documents of scopes, and that no process goes on with. */
async function leaveOpen(uri: string, database: string, scopes: readonly string[]): Promise<() => Promise<void>> {
  const dead = new MongoClient(uri, { appName: connectionName(database) });
  const session = dead.startSession();
  session.startTransaction();
  const order = dead.db(database).collection<{ _id: string; number: number }>(ORDER_COLLECTION);
  for (const _id of scopes) await order.updateOne({ _id }, { $inc: { number: 1 } }, { session });
  return () => dead.close();
}

test("a control plane that died in a transaction keeps neither its slots nor shared scopes from others", async () => {
  if (!set) return expect(await requireMongod()).toBeUndefined();
  const database = `test_${databases++}`;
  const store = await openMongoStore({ uri: set.uri, database, abandonedMs: 300 });
  const rows = store.ownership;
  if (!rows) throw new Error("the store of several control planes has rows of ownership");
  const owned = await rows.take((await rows.slots()).slice(0, 3), "dead");
  const put = (value: string) => store.transaction("settings", (tx) => tx.put("settings", { id: "any", value }));
  await put("before");
  const closeFirst = await leaveOpen(set.uri, database, ["settings"]);
  await put("after");
  const closeSecond = await leaveOpen(set.uri, database, [slotScope(1)]);
  const take = () => orElse(rows.take(owned, "living"), [], "the ownership takes again until the slots are free");
  const beganMs = performance.now();
  let taken = await take();
  while (taken.length < owned.length && performance.now() - beganMs < 30_000) taken = await take();

  expect(taken.map(({ slot, epoch, owner }) => [slot, epoch, owner])).toEqual([0, 1, 2].map((slot) => [slot, 2, "living"]));
  expect((await store.get("settings", "any"))?.value).toBe("after");
  await Promise.all([closeFirst(), closeSecond(), store.close()]);
}, 90_000);
