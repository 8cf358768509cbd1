import { DAY, fillOldLedger, purchase, reportedCall, settle } from "../../proof/ledger-fixture.ts";
import { checkLedger } from "../../services/ledger/verify.ts";
import { collect } from "../page.ts";
import type { Store } from "../store.ts";
import { openTestStore } from "../test-store.ts";
import { divideLedger, ledgerSlots } from "./0002-ledger-slots.ts";
import { migrate } from "./migrate.ts";
import type { Migration } from "./migration.ts";

const signal = new AbortController().signal;

async function withOldLedger(slots: number, work: (store: Store) => Promise<void>): Promise<void> {
  const { store, close } = openTestStore({ slots });
  try {
    await migrate(store, []);
    await fillOldLedger(store);
    await work(store);
  } finally {
    await close();
  }
}

async function addEntries(store: Store): Promise<void> {
  for (const organizationId of ["org_1", "org_2", "org_3"]) {
    await purchase(store, { organizationId, amount: 70n, reference: `after_${organizationId}` });
    await settle(store, [reportedCall(`call_after_${organizationId}`, 7n, { organizationId, createdAt: DAY })]);
  }
}

test.each([1, 4, 256])("an old ledger in a store of %i slots verifies before, after, and with new entries; no old entry changes", (slots) =>
  withOldLedger(slots, async (store) => {
    const before = await checkLedger(store, signal);
    const entries = await collect(store.scan("ledger"));
    expect(before).toMatchObject({ ok: true, entries: 6n, lastSeq: 6n });
    expect(await migrate(store, [ledgerSlots])).toMatchObject({ from: 1, to: 2 });
    expect(await checkLedger(store, signal)).toEqual(before);
    await addEntries(store);
    const after = await checkLedger(store, signal);
    expect(after).toMatchObject({ ok: true, sum: 0n, entries: 12n, firstBad: undefined });
    expect((await collect(store.scan("ledger"))).slice(0, 6)).toEqual(entries);
    const later = (await collect(store.scan("ledger"))).slice(6);
    expect(Math.min(...later.map(({ id }) => id))).toBeGreaterThan(6);
    if (slots === 1) expect(later.map(({ id }) => id)).toEqual([7, 8, 9, 10, 11, 12]);
    else expect((await store.get("accounts", "revenue"))?.balance).toBe(110n);
  }),
);

test.each([1, 4])("in a store of %i slots, the step may run again and changes nothing then, also after new entries", (slots) =>
  withOldLedger(slots, async (store) => {
    await migrate(store);
    await addEntries(store);
    const heads = await collect(store.scan("ledgerHead"));
    await store.transaction("every", divideLedger);
    expect(await collect(store.scan("ledgerHead"))).toEqual(heads);
  }),
);

test("a step that ends midway leaves the old ledger, and the next start divides it", () =>
  withOldLedger(4, async (store) => {
    const killed: Migration = {
      ...ledgerSlots,
      up: async (tx) => {
        await divideLedger(tx);
        throw new Error("killed");
      },
    };
    await expect(migrate(store, [killed])).rejects.toThrow("killed");
    expect((await collect(store.scan("ledgerHead"))).map(({ id }) => id)).toEqual(["head"]);
    expect(await migrate(store, [ledgerSlots])).toMatchObject({ from: 1, to: 2 });
    expect(await store.count("ledgerHead")).toBe(5);
  }));

const corruptions: [name: string, spoil: (store: Store) => Promise<void>][] = [
  ["a changed entry of the closed chain", async (store) => put(store, 2, { createdAt: 1 })],
  ["a removed end of the closed chain", (store) => store.transaction("every", (tx) => tx.remove("ledgerHead", "head"))],
  [
    "another end of the closed chain",
    async (store) => store.transaction("every", (tx) => tx.put("ledgerHead", { id: "head", seq: 5, hash: "0".repeat(64) })),
  ],
];

test.each(corruptions)("%s is found", (_name, spoil) =>
  withOldLedger(4, async (store) => {
    await migrate(store);
    await addEntries(store);
    await spoil(store);
    expect((await checkLedger(store, signal)).ok).toBe(false);
  }),
);

test("a ledger of one slot that was copied into a store of many is closed and goes on in slots", () =>
  withOldLedger(4, async (store) => {
    const head = await store.get("ledgerHead", "head");
    if (!head) throw new Error("the head must be there");
    await store.transaction("every", async (tx) => {
      await tx.remove("ledgerHead", "head");
      await tx.put("ledgerHead", { ...head, id: "0" });
    });
    await store.transaction("every", divideLedger);
    await addEntries(store);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, entries: 12n });
  }));

async function put(store: Store, id: number, changes: { createdAt: number }): Promise<void> {
  const entry = await store.get("ledger", id);
  if (!entry) throw new Error("the entry must be there");
  await store.transaction("every", (tx) => tx.put("ledger", { ...entry, ...changes }));
}
