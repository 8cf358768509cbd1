import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient } from "mongodb";
import { systemClock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { slotOf } from "../../../common/slots.ts";
import { type ReplicaSet, startReplicaSet } from "../../../test/helpers/mongod.ts";
import { Leases } from "../../credit/leases.ts";
import { Reservations } from "../../credit/reservations.ts";
import { Settler } from "../../credit/settler.ts";
import { removeExpired } from "../../jobs/remove-expired.ts";
import { reportedCall } from "../../proof/ledger-fixture.ts";
import { checkLedger } from "../../services/ledger/verify.ts";
import { post } from "../../writes/ledger.ts";
import type { SlotRow } from "../ownership-rows.ts";
import { collect } from "../page.ts";
import { SHARED_SLOT } from "../record-slots.ts";
import { organizationScope } from "../scopes.ts";
import type { Store } from "../store.ts";
import { storeContract } from "../store-contract.ts";
import { CommandLog, type SentTransaction } from "./command-log-fixture.ts";
import { team } from "./several-planes-contract.ts";
import { fillSlots } from "./sharding.ts";
import { type MongoStoreOptions, openMongoStore } from "./store.ts";

// A router is not available to tests. The store is opened as if its collections were divided, and what it sends is what a router would get.
const hasMongod = process.env["MONGOD"] !== "none";
const folder = mkdtempSync(join(tmpdir(), "tributary-sharded-"));
let set: ReplicaSet;
let client: MongoClient;
const log = new CommandLog();
let databases = 0;
let opened: Store[] = [];

const freshName = () => `sharded_${databases++}`;
const open = async (database: string, options: Partial<MongoStoreOptions> = {}): Promise<Store> => {
  const store = await openMongoStore({ uri: set.uri, database, sharded: true, onCommand: log.onCommand, ...options });
  opened.push(store);
  return store;
};
const documents = (database: string, collection: string) =>
  client
    .db(database)
    .collection<{ _id: string; slot?: number }>(collection)
    .find({}, { sort: { _id: 1 } })
    .toArray();

beforeAll(async () => {
  if (!hasMongod) return;
  set = await startReplicaSet({ folder });
  client = new MongoClient(set.uri);
}, 60_000);
afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()));
  opened = [];
});
afterAll(async () => {
  await client?.close();
  await set?.stop();
  rmSync(folder, { recursive: true, force: true });
});

if (hasMongod) {
  storeContract("mongo (sharded)", async () => {
    const database = freshName();
    const store = await open(database);
    return { store, reopen: () => open(database), close: async () => undefined };
  });
  withCluster();
} else {
  test("the store of a sharded cluster is not tested here: this machine has no mongod", () => {
    expect(hasMongod).toBe(false);
  });
}

function withCluster(): void {
  describe("on a sharded cluster", () => {
    const organizations = Array.from({ length: 6 }, (_, index) => `org_${index}`);

    test("settlements, leases and removals write one slot each, and the ledger is right", async () => {
      const store = await open(freshName());
      for (const id of organizations) await buy(store, id, 1_000n);
      const leases = leasesOf(store);
      const request = { edgeId: "edge_1", generation: 0, released: 0n, want: 50n, need: 50n, free: 0n };
      const answers = await Promise.all(organizations.map((organizationId) => leases.lease({ ...request, organizationId })));
      expect(answers.map(({ granted }) => granted)).toEqual(organizations.map(() => 50n));
      const settler = settlerOf(store);
      const rows = organizations.flatMap((organizationId) =>
        [1, 2].map((number) =>
          reportedCall(`call_${organizationId}_${number}`, 7n, {
            ...{ organizationId, apiKeyId: `key_${organizationId}`, onceFor: `work_${organizationId}_${number}` },
          }),
        ),
      );
      const ending = { edgeId: "edge_1", generations: new Map<string, number>(), returns: [], endedEdges: ["edge_1"] };
      expect(await settler.settle(rows, ending)).toMatchObject({ settled: rows.length, refused: [] });
      expect(await settler.settle(rows)).toMatchObject({ settled: 0, repeated: rows.length });
      const dearer = rows.map(({ id, organizationId, apiKeyId, onceFor = "" }) =>
        reportedCall(`${id}_again`, 9n, { organizationId, apiKeyId, onceFor }),
      );
      await settler.settle(dearer);
      expect(await Promise.all(dearer.map(async ({ id }) => (await store.get("usage", id))?.cost))).toEqual(dearer.map(() => 2n));
      await removeExpired(systemClock.now() + 3_600_000, { store });
      expect(await store.count("leases")).toBe(0);
      expect(await checkLedger(store, AbortSignal.timeout(10_000))).toMatchObject({ ok: true });
      const ofSlots = log.transactions.filter(({ scopes }) => scopes.length > 0 && scopes.every((scope) => scope.startsWith("slot:")));
      expect(ofSlots.filter((transaction) => slotsOf(transaction).size === 1).length).toBeGreaterThanOrEqual(3 * organizations.length);
    });

    test("what a settlement reads is in its slot, but for budgets that several organizations share", async () => {
      const before = log.transactions.length;
      const store = await open(freshName());
      await settlerOf(store).settle([reportedCall("call_1", 7n, { createdAt: systemClock.now() })]);
      const slot = slotOf("org_1", store.slots);
      const reads = log.transactions.slice(before).flatMap((transaction) => transaction.reads);
      const elsewhere = reads.filter(({ slots }) => slots?.some((read) => read !== slot) ?? true).map(({ collection }) => collection);
      expect(reads.length).toBeGreaterThan(4);
      expect([...new Set(elsewhere)].sort()).toEqual(["budgetUses", "keyUses"]);
    });

    test("a transaction of two slots is refused before it runs", async () => {
      const store = await open(freshName());
      let runs = 0;
      const both = store.transaction(["slot:3", "identity", "slot:4"], async () => void runs++);
      await expect(both).rejects.toThrow("a transaction may write 1 slot of a sharded cluster; this one has 3, 4");
      expect(runs).toBe(0);
    });

    test("a slot that another control plane took is fenced there too", async () => {
      const database = freshName();
      const [free] = await takeSlot(await open(database), { slot: 7, epoch: 0, owner: undefined }, "plane_1");
      expect(free).toEqual({ slot: 7, epoch: 1, owner: "plane_1" });
      const store = await open(database, { fence: { epochOf: () => 1 } });
      const write = () => store.transaction("slot:7", (tx) => tx.put("counters", { id: "leases/7", value: 1 }));
      await write();
      await takeSlot(store, { slot: 7, epoch: 1, owner: "plane_1" }, "plane_2");
      await expect(write()).rejects.toMatchObject({ name: "NotOwner", slot: 7 });
      expect(await documents(database, "transactionOrder")).toMatchObject([{ _id: "slot:7", slot: 7, epoch: 2, owner: "plane_2" }]);
    });

    test("a unique value that is taken is refused although no index is unique, also where records are inserted unread", async () => {
      const store = await open(freshName());
      const scope = organizationScope(store, "org_1");
      await store.transaction(scope, async (tx) => tx.insertNew("teams", [team("team_1", { nameKey: "one" })]));
      const taken = { code: "ALREADY_EXISTS" };
      const again = store.transaction(scope, async (tx) => tx.insertNew("teams", [team("team_2", { nameKey: "one" })]));
      await expect(again).rejects.toMatchObject(taken);
      const twice = store.transaction(scope, async (tx) =>
        tx.insertNew("teams", [team("team_3", { nameKey: "two" }), team("team_4", { nameKey: "two" })]),
      );
      await expect(twice).rejects.toMatchObject(taken);
      await store.transaction(scope, async (tx) => {
        await tx.remove("teams", "team_1");
        tx.insertNew("teams", [team("team_2", { nameKey: "one" })]);
      });
      expect((await collect(store.scan("teams"))).map(({ id }) => id)).toEqual(["team_2"]);
    });

    test("a record whose slot becomes known moves there in one transaction", async () => {
      const database = freshName();
      const store = await open(database);
      await store.transaction([], (tx) => tx.put("keyUses", { id: "key_1", spend: 1n, lastUsedAt: 1 }));
      await settlerOf(store).settle([reportedCall("call_1", 7n, { organizationId: "org_1", apiKeyId: "key_1" })]);
      expect(await documents(database, "keyUses")).toMatchObject([{ _id: "key_1", slot: slotOf("org_1", 256) }]);
      expect((await store.get("keyUses", "key_1"))?.spend).toBe(8n);
    });

    // Last, over all of the above and the contracts: every write of a transaction names its slot.
    test("every write of every transaction names its slot, and none but migrations has two", () => {
      const all = log.transactions;
      expect(all.length).toBeGreaterThan(200);
      expect(all.flatMap(({ writes }) => writes).filter(({ slot }) => slot === undefined)).toEqual([]);
      const several = all.filter((transaction) => !transaction.scopes.includes("every") && slotsOf(transaction).size > 1);
      expect(several).toEqual([]);
    });
  });

  describe("documents of a replica set", () => {
    test("have the fields of their records only, as the release before reads them; behind a router they get their slot all at once", async () => {
      const database = freshName();
      const store = await open(database, { sharded: false });
      expect(store.slotsPerTransaction).toBe(256);
      const scope = organizationScope(store, "org_1");
      await store.transaction(scope, async (tx) => {
        tx.insertNew("teams", [team("team_1"), team("team_2", { nameKey: "2" }), team("team_3", { nameKey: "3" })]);
      });
      await store.transaction(scope, async (tx) => {
        await tx.put("teams", team("team_1", { updatedAt: 2 }));
        await tx.remove("teams", "team_2");
      });
      const { id: _, ...fields } = team("team_1", { updatedAt: 2 });
      expect((await documents(database, "teams"))[0]).toStrictEqual({ _id: "team_1", ...fields });
      expect((await documents(database, "transactionOrder")).map((document) => document.slot)).toEqual([undefined]);
      const slot = slotOf("org_1", 256);
      await fillSlots(client.db(database), "teams", 256);
      await fillSlots(client.db(database), "transactionOrder", 256);
      expect(await documents(database, "teams")).toMatchObject([
        { _id: "team_1", slot },
        { _id: "team_3", slot },
      ]);
      expect(await documents(database, "transactionOrder")).toMatchObject([{ _id: scope, slot }]);
    });
  });
}

/** The slots of a transaction's writes. Documents of no slot are not among them. */
function slotsOf({ writes }: SentTransaction): Set<number | undefined> {
  return new Set(writes.map(({ slot }) => slot).filter((slot) => slot !== SHARED_SLOT));
}

function takeSlot({ ownership }: Store, row: SlotRow, owner: string): Promise<readonly SlotRow[]> {
  return ownership?.take([row], owner) ?? Promise.resolve([]);
}

function settlerOf(store: Store): Settler {
  const reservations = new Reservations({ reader: store, clock: systemClock, policy: "document" });
  return new Settler({ store, reservations, clock: systemClock, logger: silentLogger });
}

function buy(store: Store, organizationId: string, amount: bigint): Promise<unknown> {
  const entry = {
    type: "purchase",
    organizationId,
    from: "purchases",
    to: `org:${organizationId}`,
    amount,
    reference: organizationId,
  } as const;
  return store.transaction(organizationScope(store, organizationId), (tx) => post(tx, entry, 1));
}

function leasesOf(store: Store): Leases {
  const reservations = { reservedOf: () => 0n, withhold: () => () => {} };
  return new Leases({ store, clock: systemClock, policy: "document", reservations, ended: { learn: async () => true, inVain: () => {} } });
}
