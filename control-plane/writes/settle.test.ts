import fc from "fast-check";
import { emptyAccount, organizationAccount } from "../domain/ledger.ts";
import type { UsageRow } from "../domain/records.ts";
import { reportedCall } from "../proof/ledger-fixture.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { post } from "./ledger.ts";
import { settleCalls } from "./settle.ts";

const signal = new AbortController().signal;

const USAGE = { input: 1, cachedInput: 0, cacheWrite: 0, output: 2, reasoning: 0, audio: 0, total: 3, source: "provider" } as const;

function row(id: string, cost: bigint, changes: Partial<UsageRow> = {}): UsageRow {
  return reportedCall(id, cost, { createdAt: 1_000_000, completedAt: 1_000_001, usage: USAGE, ...changes });
}

const settle = (store: Store, rows: readonly UsageRow[]) => store.transaction("every", (tx) => settleCalls(tx, rows, 5));
const balance = async (store: Store) => (await store.get("accounts", organizationAccount("org_1")))?.balance ?? 0n;

async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  const { store, close } = openTestStore();
  try {
    await store.transaction("every", (tx) =>
      tx.insert("teams", { id: "team_1", name: "t", nameKey: "t", organizationId: "org_1", createdAt: 1, updatedAt: 1 }),
    );
    await work(store);
  } finally {
    await close();
  }
}

test("however settlements are split, repeated and reordered, each call is charged once and everything adds up", async () => {
  const calls = fc.uniqueArray(fc.record({ id: fc.nat(30), cost: fc.bigInt({ min: 0n, max: 1000n }) }), {
    selector: ({ id }) => id,
    minLength: 1,
  });
  await fc.assert(
    fc.asyncProperty(calls, fc.array(fc.nat(30), { maxLength: 80 }), fc.integer({ min: 1, max: 7 }), async (given, order, batch) => {
      await withStore(async (store) => {
        const rows = given.map(({ id, cost }) => row(`call_${id}`, cost));
        const sequence = [...order.map((index) => rows[index % rows.length]), ...rows].filter((found) => found !== undefined);
        for (let start = 0; start < sequence.length; start += batch) await settle(store, sequence.slice(start, start + batch));
        const total = given.reduce((sum, { cost }) => sum + cost, 0n);
        expect(await balance(store)).toBe(-total);
        expect(await store.count("usage")).toBe(rows.length);
        expect(await store.count("ledger")).toBe(given.filter(({ cost }) => cost > 0n).length);
        const [rollup] = await collect(store.scan("rollups"));
        expect(rollup).toMatchObject({ requests: rows.length, cost: total, total: 3 * rows.length });
        expect(await store.get("keyUses", "key_1")).toMatchObject({ spend: total, lastUsedAt: 1_000_000 });
        expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
      });
    }),
    { numRuns: 30 },
  );
});

test("the same call with another content is refused, and nothing of it is charged", () =>
  withStore(async (store) => {
    await settle(store, [row("call_1", 10n)]);
    const outcome = await settle(store, [row("call_1", 11n), row("call_2", 1n)]);
    expect(outcome).toMatchObject({ settled: 1, repeated: 0, refused: ["call_1"] });
    expect(await balance(store)).toBe(-11n);
  }));

test("the settlement that takes the balance below zero blocks every team in the same transaction, and a purchase unblocks them", () =>
  withStore(async (store) => {
    const purchase = (amount: bigint, reference: string) =>
      store.transaction("every", (tx) =>
        post(tx, { type: "purchase", organizationId: "org_1", from: "purchases", to: organizationAccount("org_1"), amount, reference }, 9),
      );
    const blocked = async () => (await store.get("teams", "team_1"))?.blockedByQuotaAt !== undefined;
    await purchase(10n, "pur_1");
    await settle(store, [row("call_1", 10n)]);
    expect([await balance(store), await blocked()]).toEqual([0n, false]);
    await settle(store, [row("call_2", 3n)]);
    expect([await balance(store), await blocked()]).toEqual([-3n, true]);
    await purchase(2n, "pur_2");
    expect(await blocked()).toBe(true);
    await purchase(1n, "pur_3");
    expect([await balance(store), await blocked()]).toEqual([0n, false]);
    expect((await collect(store.scan("feed"))).map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
      "organization org_1",
      "organization org_1",
    ]);
  }));

test("a transfer with a reference the ledger has already is refused", () =>
  withStore(async (store) => {
    const once = () =>
      store.transaction("every", (tx) =>
        post(
          tx,
          {
            type: "purchase",
            organizationId: "org_1",
            from: "purchases",
            to: organizationAccount("org_1"),
            amount: 1n,
            reference: "pur_1",
          },
          9,
        ),
      );
    await once();
    await expect(once()).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
    expect(await balance(store)).toBe(1n);
  }));

test("verify names the first bad entry: a changed amount, a missing row, a changed balance", () =>
  withStore(async (store) => {
    await settle(store, [row("call_1", 1n), row("call_2", 2n), row("call_3", 3n)]);
    const entry = await store.get("ledger", 2);
    const account = (await store.get("accounts", organizationAccount("org_1"))) ?? emptyAccount("");
    if (!entry) throw new Error("the entry must be there");
    const verify = async () => (await checkLedger(store, signal)).firstBad;
    await store.transaction("every", (tx) => tx.put("ledger", { ...entry, amount: 20n }));
    expect(await verify()).toMatchObject({ seq: 2n, reason: expect.stringContaining("hash") });
    await store.transaction("every", (tx) => tx.remove("ledger", 2));
    expect(await verify()).toMatchObject({ seq: 3n, reason: "entry 2 is missing" });
    await store.transaction("every", (tx) => tx.put("ledger", entry));
    expect(await verify()).toBeUndefined();
    await store.transaction("every", (tx) => tx.put("accounts", { ...account, balance: 1n }));
    expect(await verify()).toMatchObject({ reason: expect.stringContaining("holds 1") });
  }));

test("all calls for one piece of background work are charged what the dearest of them cost, in one batch or in many", () =>
  withStore(async (store) => {
    const work = { onceFor: "batch_1/7" };
    await settle(store, [row("call_1", 0n, { ...work, status: "cancelled" })]);
    await settle(store, [row("call_2", 30n, work), row("call_3", 40n, work), row("call_4", 5n)]);
    const again = row("call_5", 50n, work);
    await settle(store, [again]);
    // What is repeated is what was reported, not what it was settled for.
    expect(await settle(store, [again])).toMatchObject({ settled: 0, repeated: 1, refused: [] });
    await settle(store, [row("call_6", 20n, work), row("call_7", 50n, work)]);
    expect(await balance(store)).toBe(-55n);
    const ids = ["call_1", "call_2", "call_3", "call_5", "call_6", "call_7"];
    const costs = await Promise.all(ids.map(async (id) => (await store.get("usage", id))?.cost));
    expect(costs).toEqual([0n, 30n, 10n, 10n, 0n, 0n]);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
  }));

test("an attempt that was cut short does not pay for the whole answer; work that an older release charged is not charged again", () =>
  withStore(async (store) => {
    await settle(store, [row("call_1", 3n, { onceFor: "resp_1/0", status: "cancelled" })]);
    await settle(store, [row("call_2", 900n, { onceFor: "resp_1/0" })]);
    expect(await balance(store)).toBe(-900n);
    expect(await store.get("usage", "call_2")).toMatchObject({ cost: 897n, reportedCost: 900n });
    await store.transaction("every", (tx) => tx.insert("paidWork", { id: "resp_2/0", callId: "call_0", expiresAt: 1e15 }));
    await settle(store, [row("call_3", 40n, { onceFor: "resp_2/0" })]);
    expect(await balance(store)).toBe(-900n);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
  }));
