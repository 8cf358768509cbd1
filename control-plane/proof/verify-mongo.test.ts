import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../common/logger.ts";
import { type ReplicaSet, requireMongod, startReplicaSet } from "../../test/helpers/mongod.ts";
import { organizationAccount } from "../domain/ledger.ts";
import { checkpointWhenDue } from "../jobs/checkpoint-ledger.ts";
import { deliverOutbox } from "../jobs/deliver-outbox.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { migrate } from "../stores/migrations/migrate.ts";
import { openMongoStore } from "../stores/mongo/store.ts";
import { organizationScope } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";
import { anchorHeads } from "../writes/anchors.ts";
import { writeAudit } from "../writes/audit.ts";
import { post } from "../writes/ledger.ts";
import { payOut } from "../writes/outbox.ts";
import { checkAudit } from "./check-audit.ts";
import { checkRollups } from "./check-rollups.ts";
import { DAY, fillLedger, fillOldLedger, plant, purchase, QUARTER, reportedCall, settle } from "./ledger-fixture.ts";
import { replayBalance } from "./replay.ts";
import { Verifications } from "./verifications.ts";

// What the other store keeps comes back field by field, in the order it was written: hashes and sums made again from it must hold.

const signal = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), "tributary-proof-"));
let set: ReplicaSet | undefined;
let store: Store | undefined;

beforeAll(async () => {
  if (!(await requireMongod())) return;
  set = await startReplicaSet({ folder });
  store = await openMongoStore({ uri: set.uri, database: "proof" });
  await fillLedger(store);
  const more = Array.from({ length: 700 }, (_, index) =>
    reportedCall(`call_more_${index}`, BigInt(index), {
      createdAt: DAY + (index % 7) * QUARTER,
      userId: 7,
      endUser: "ä",
      firstTokenMs: 3,
      tags: ["a", "b"],
      organizationId: `org_${1 + (index % 2)}`,
    }),
  );
  await settle(store, more);
}, 60_000);
afterAll(async () => {
  await store?.close();
  await set?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("MongoDB: a ledger of many pages verifies, replays to the stored balance, and a planted change is named", async () => {
  if (!store) return;
  expect(await checkLedger(store, signal)).toMatchObject({ ok: true, firstBad: undefined, usageRows: 705n });
  for (const organizationId of ["org_1", "org_2"]) {
    const stored = (await store.get("accounts", `org:${organizationId}`))?.balance;
    expect((await replayBalance(store, { organizationId, asOf: DAY, signal })).balance).toBe(stored);
    expect((await checkRollups(store, { organizationId, signal })).difference).toBeUndefined();
  }
  await plant(store, "usage", "call_more_650", { endUser: "a" });
  expect((await checkLedger(store, signal)).firstBad).toMatchObject({ kind: "content", record: "call call_more_650" });
  await plant(store, "usage", "call_more_650", { endUser: "ä", cost: 1n });
  expect((await checkLedger(store, signal)).firstBad).toMatchObject({ kind: "usage" });
});

test("MongoDB: a ledger of an old release is divided into 256 slots, goes on, is anchored, and pays over the outbox", async () => {
  if (!set) return;
  const old = await openMongoStore({ uri: set.uri, database: "proof-old" });
  try {
    await migrate(old, []);
    await fillOldLedger(old);
    expect(await migrate(old)).toMatchObject({ from: 1, to: 3 });
    await anchorHeads(old, () => DAY);
    expect(await checkLedger(old, signal)).toMatchObject({ ok: true, entries: 6n, lastSeq: 6n, anchors: 1n });
    for (let index = 0; index < 12; index++) {
      const organizationId = `org_${index}`;
      await purchase(old, { organizationId, amount: 100n, reference: `later_${index}` });
      await settle(old, [reportedCall(`call_later_${index}`, 7n, { organizationId })]);
    }
    const [fromOrganizationId, toOrganizationId] = ["org_1", "org_2"];
    const account = organizationAccount(fromOrganizationId);
    await old.transaction([organizationScope(old, fromOrganizationId), "federation:fed_1"], async (tx) => {
      const fund = { type: "reward", organizationId: fromOrganizationId, from: account, to: "training:fed_1", amount: 50n } as const;
      await post(tx, { ...fund, reference: "fund" }, DAY);
      await payOut(
        tx,
        { type: "reward", fromOrganizationId, toOrganizationId, from: "training:fed_1", amount: 50n, reference: "pay" },
        DAY,
      );
    });
    await Promise.all([1, 2].map(() => deliverOutbox(DAY, { store: old, logger: silentLogger })));
    await Promise.all([1, 2].map(() => anchorHeads(old, () => DAY)));
    expect(await old.count("outbox")).toBe(0);
    expect((await old.get("accounts", organizationAccount(toOrganizationId)))?.rewarded).toBe(50n);
    expect((await old.get("accounts", "revenue"))?.balance).toBe(110n);
    expect(await checkLedger(old, signal)).toMatchObject({ ok: true, sum: 0n, entries: 34n, anchors: 2n, firstBad: undefined });
    await plant(old, "ledger", 3, { amount: 11n });
    expect(await checkLedger(old, signal)).toMatchObject({ ok: false, firstBad: { kind: "chain", seq: 3n } });
  } finally {
    await old.close();
  }
});

test("MongoDB: a checkpoint of 256 slots is written, and both checks hold with it and after it", async () => {
  if (!set) return;
  const divided = await openMongoStore({ uri: set.uri, database: "proof-checkpoint" });
  const config = { ledgerCheckpointHours: 1 };
  const checkpoint = () =>
    checkpointWhenDue(DAY + 2 * 3_600_000, { store: divided, logger: silentLogger, verifications: new Verifications(), config }, signal);
  try {
    await fillLedger(divided);
    await anchorHeads(divided, () => DAY);
    await Promise.all([1, 2].map(checkpoint));
    await settle(divided, [reportedCall("call_after", 7n)]);
    expect(await checkLedger(divided, signal)).toMatchObject({ ok: true, entries: 7n, firstBad: undefined, checkpoint: undefined });
    expect(await checkLedger(divided, signal, { isFast: true })).toMatchObject({ ok: true, entries: 7n, checkpoint: { number: 1n } });
  } finally {
    await divided.close();
  }
});

test("MongoDB: audit entries that two control planes write at once are one chain, and a changed one is named", async () => {
  if (!store || !set) return;
  const other = await openMongoStore({ uri: set.uri, database: "proof" });
  const entry = { actorKind: "system", action: "test", requestId: "", details: { name: "ä" } } as const;
  await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      (index % 2 ? store : other)?.transaction("every", (tx) => writeAudit(tx, { ...entry, target: `t_${index}` }, index)),
    ),
  );
  await other.close();
  expect(await checkAudit(store, signal)).toMatchObject({ entries: 40, chained: 40, fault: undefined });
  await plant(store, "audit", 17, { target: "another" });
  expect((await checkAudit(store, signal)).fault).toMatchObject({ kind: "chain", seq: 17 });
});
