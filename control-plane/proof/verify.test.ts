import { entryHash, NO_HASH, organizationAccount } from "../domain/ledger.ts";
import type { LedgerEntry, Rollup } from "../domain/records.ts";
import { usageContentHash } from "../domain/settlement.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { DAY, plant, QUARTER, reportedCall, settle, withLedger } from "./ledger-fixture.ts";

const signal = new AbortController().signal;

/** Rewrites an entry and everything chained after it, as somebody would who knows the chain. */
async function forge(store: Store, seq: number, changes: Partial<LedgerEntry>): Promise<void> {
  await store.transaction("every", async (tx) => {
    let previous = NO_HASH;
    const entries = await collect(tx.scan("ledger"));
    for (const { hash: _, ...entry } of entries) {
      const forged = entry.id === seq ? { ...entry, ...changes } : entry;
      previous = entryHash(previous, forged);
      await tx.put("ledger", { ...forged, hash: previous });
    }
    await tx.put("ledgerHead", { id: "0", seq: entries.length, hash: previous });
  });
}

async function rollupOf(store: Store, match: Partial<Rollup>): Promise<Rollup> {
  const found = (await collect(store.scan("rollups"))).find((rollup) =>
    Object.entries(match).every(([name, value]) => rollup[name as keyof Rollup] === value),
  );
  if (!found) throw new Error("there is no such roll-up");
  return found;
}

test("a sound ledger verifies, and the answer counts what was read", () =>
  withLedger(async (store) => {
    expect(await checkLedger(store, signal)).toMatchObject({
      ok: true,
      sum: 0n,
      firstBad: undefined,
      entries: 6n,
      lastSeq: 6n,
      accounts: 4n,
      usageRows: 5n,
      rollups: 5n,
    });
  }));

test("an empty ledger verifies", async () => {
  const { store, close } = openTestStore();
  expect(await checkLedger(store, signal)).toMatchObject({ ok: true, entries: 0n, usageRows: 0n, rollups: 0n });
  await close();
});

const corruptions: [name: string, kind: string, record: RegExp, reason: RegExp, spoil: (store: Store) => Promise<void>][] = [
  ["a changed amount", "chain", /^entry 3$/, /hash does not follow/, (store) => plant(store, "ledger", 3, { amount: 11n })],
  ["a changed time", "chain", /^entry 4$/, /hash does not follow/, (store) => plant(store, "ledger", 4, { createdAt: 1 })],
  ["a removed entry", "sequence", /^entry 4$/, /entry 3 is missing/, (store) => plant(store, "ledger", 3, "removed")],
  ["a removed last entry", "head", /^head$/, /ends at 5, its head says 6/, (store) => plant(store, "ledger", 6, "removed")],
  ["a head of another hash", "head", /^head$/, /hash is not/, (store) => plant(store, "ledgerHead", "0", { hash: "0".repeat(64) })],
  ["a transfer of less than nothing", "transfer", /^entry 3$/, /not above zero/, (store) => forge(store, 3, { amount: -10n })],
  ["a transfer to itself", "transfer", /^entry 3$/, /from and to are the same account/, (store) => forge(store, 3, { to: "org:org_1" })],
  ["a transfer past the organization", "transfer", /^entry 3$/, /neither side/, (store) => forge(store, 3, { from: "grants" })],
  ["a transfer between tenants", "transfer", /^entry 3$/, /two organizations/, (store) => forge(store, 3, { to: "org:org_2" })],
  ["a forged balance", "balance", /^entry 3$/, /balance after it is 990, not 991/, (store) => forge(store, 3, { balanceAfter: 991n })],
  [
    "a changed balance",
    "balance",
    /^account org:org_2$/,
    /holds 971, its entries say 970/,
    (store) => plant(store, "accounts", organizationAccount("org_2"), { balance: 971n }),
  ],
  [
    "a changed total of what was used",
    "balance",
    /^account org:org_1$/,
    /used 81, its entries say 80/,
    (store) => plant(store, "accounts", organizationAccount("org_1"), { used: 81n }),
  ],
  ["a removed account", "balance", /^account revenue$/, /is missing/, (store) => plant(store, "accounts", "revenue", "removed")],
  ["a removed call", "usage", /^entry 3$/, /call call_1 .* not in the log/, (store) => plant(store, "usage", "call_1", "removed")],
  [
    "a call of another cost",
    "usage",
    /^entry 3$/,
    /charges 10, the call call_1 cost 9/,
    (store) => plant(store, "usage", "call_1", { cost: 9n }),
  ],
  ["a call that names another entry", "usage", /^entry 3$/, /names entry 4/, (store) => plant(store, "usage", "call_1", { ledgerSeq: 4 })],
  [
    "a call of another tenant",
    "usage",
    /^entry 3$/,
    /charges org_1 for a call of org_2/,
    (store) => plant(store, "usage", "call_1", { organizationId: "org_2" }),
  ],
  ["a forged reference", "usage", /^entry 3$/, /call_x .* not in the log/, (store) => forge(store, 3, { reference: "call_x" })],
  ["a free call that costs now", "usage", /^call call_4$/, /no entry charges it/, (store) => plant(store, "usage", "call_4", { cost: 5n })],
  [
    "a free call that names an entry",
    "usage",
    /^call call_4$/,
    /which it names, charges call_1/,
    (store) => plant(store, "usage", "call_4", { ledgerSeq: 3 }),
  ],
  [
    "a call of another content",
    "content",
    /^call call_2$/,
    /differs from the edge/,
    (store) => plant(store, "usage", "call_2", { endUser: "somebody else" }),
  ],
  [
    "a roll-up that says more",
    "rollup",
    /^roll-up /,
    /org_1 at 2026-03-29T00:15:00.000Z for other, success, says cost 51, its rows say 50/,
    async (store) => plant(store, "rollups", (await rollupOf(store, { model: "other" })).id, { cost: 51n }),
  ],
  [
    "a roll-up with another count of tokens",
    "rollup",
    /^roll-up /,
    /says output 21, its rows say 20/,
    async (store) => plant(store, "rollups", (await rollupOf(store, { organizationId: "org_2" })).id, { output: 21 }),
  ],
  [
    "a roll-up of other latencies",
    "rollup",
    /^roll-up /,
    /says latencyMsSum 2, its rows say 1/,
    async (store) => plant(store, "rollups", (await rollupOf(store, { organizationId: "org_2" })).id, { latencyMsSum: 2 }),
  ],
  [
    "a roll-up with a call in another class of latencies",
    "rollup",
    /^roll-up /,
    /says latencyCounts 0,1,/,
    async (store) => {
      const { id, latencyCounts = [] } = await rollupOf(store, { organizationId: "org_2" });
      await plant(store, "rollups", id, { latencyCounts: latencyCounts.map((_count, place) => (place === 1 ? 1 : 0)) });
    },
  ],
  [
    "a removed roll-up",
    "rollup",
    /^roll-up /,
    /is missing; its rows say 1 requests and a cost of 30/,
    async (store) => plant(store, "rollups", (await rollupOf(store, { organizationId: "org_2" })).id, "removed"),
  ],
  [
    "a roll-up of nothing, in a quarter of an hour without calls",
    "rollup",
    /^roll-up invented$/,
    /has no rows/,
    async (store) => {
      const rollup = await rollupOf(store, { model: "other" });
      await store.transaction("every", (tx) => tx.insert("rollups", { ...rollup, id: "invented", bucketAt: DAY + 9 * QUARTER }));
    },
  ],
  ["a call that was removed and was free", "rollup", /^roll-up /, /has no rows/, (store) => plant(store, "usage", "call_4", "removed")],
];

test.each(corruptions)("%s is found as %s", (_name, kind, record, reason, spoil) =>
  withLedger(async (store) => {
    await spoil(store);
    const { ok, firstBad } = await checkLedger(store, signal);
    expect(ok).toBe(false);
    expect(firstBad).toMatchObject({ kind, record: expect.stringMatching(record), reason: expect.stringMatching(reason) });
  }),
);

test("a call changed with its hash and its roll-up is found by the ledger still", () =>
  withLedger(async (store) => {
    const row = await store.get("usage", "call_5");
    if (!row) throw new Error("the call must be there");
    const { contentHash: _, ledgerSeq, ...content } = { ...row, cost: 5n };
    await plant(store, "usage", "call_5", { cost: 5n, contentHash: usageContentHash(content) });
    await plant(store, "rollups", (await rollupOf(store, { model: "other" })).id, { cost: 5n });
    expect((await checkLedger(store, signal)).firstBad).toMatchObject({ kind: "usage", seq: BigInt(ledgerSeq ?? 0) });
  }));

test("work that was paid before is settled for what is left, and its row still passes, unless it was changed", () =>
  withLedger(async (store) => {
    const onceFor = "batch_1/1";
    await settle(store, [reportedCall("call_6", 7n, { onceFor }), reportedCall("call_7", 7n, { onceFor })]);
    await settle(store, [reportedCall("call_8", 9n, { onceFor })]);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, usageRows: 8n });
    await plant(store, "usage", "call_7", { reportedCost: 8n });
    expect((await checkLedger(store, signal)).firstBad).toMatchObject({ kind: "content", record: "call call_7" });
  }));

test("a roll-up from before latencies were stored verifies, also when calls are added to it later; it never has a part of them", () =>
  withLedger(async (store) => {
    const { latencyMsSum: _sum, latencyCounts: _counts, ...old } = await rollupOf(store, { model: "other" });
    await store.transaction("every", (tx) => tx.put("rollups", old));
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true });
    await settle(store, [reportedCall("call_6", 7n, { createdAt: DAY + QUARTER, model: "other", latencyMs: 700 })]);
    const after = await rollupOf(store, { model: "other" });
    expect([after.requests, after.latencyMsSum, after.latencyCounts]).toEqual([2, undefined, undefined]);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true });
  }));

/** A store that does something of its own before the n-th read of a kind. */
function meddled(store: Store, meddle: (reads: number) => Promise<void>): Store {
  let reads = 0;
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (name !== "scan") return typeof member === "function" ? member.bind(target) : member;
      return async function* (...given: Parameters<Reader["scan"]>) {
        await meddle(reads++);
        yield* target.scan(...given);
      };
    },
  });
}

test("calls that are settled while it reads never make it cry wolf", () =>
  withLedger(async (store) => {
    const busy = meddled(store, async (reads) => {
      await settle(store, [
        reportedCall(`call_while_${reads}_a`, 3n, { createdAt: DAY + QUARTER }),
        reportedCall(`call_while_${reads}_b`, 4n, { createdAt: DAY, organizationId: "org_2" }),
      ]);
    });
    expect(await checkLedger(busy, signal)).toMatchObject({ ok: true, sum: 0n, firstBad: undefined });
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
  }));

test("it reads thousands of records in pages, yields to other work, and stops when its caller is gone", async () => {
  const { store, close } = openTestStore();
  const calls = Array.from({ length: 2_600 }, (_, index) =>
    reportedCall(`call_${index}`, BigInt(index % 3), { createdAt: DAY + (index % 40) * QUARTER + index }),
  );
  for (let start = 0; start < calls.length; start += 500) await settle(store, calls.slice(start, start + 500));
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  expect(await checkLedger(store, signal)).toMatchObject({ ok: true, usageRows: 2_600n, rollups: 40n });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
  const left = new AbortController();
  const leaving = meddled(store, async (reads) => void (reads === 4 && left.abort(new Error("the caller left"))));
  await expect(checkLedger(leaving, left.signal)).rejects.toThrow("the caller left");
  await close();
});
