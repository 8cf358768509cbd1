import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { writeAudit } from "../writes/audit.ts";
import { checkAudit } from "./check-audit.ts";
import { plant } from "./ledger-fixture.ts";

const signal = new AbortController().signal;

const input = { actorKind: "user", actorId: 7, action: "key.create", organizationId: "org_1", requestId: "req_1" } as const;

const append = (store: Store, target: string, details: object = { name: "ä", amount: 5n }) =>
  store.transaction("every", (tx) => writeAudit(tx, { ...input, target, details }, 1_000));

/** Entries as a release before the chain wrote them. */
async function appendUnchained(store: Store, count: number): Promise<void> {
  await store.transaction("every", async (tx) => {
    for (let id = 1; id <= count; id++) {
      await tx.insert("audit", { id, at: 1, actorKind: "system", action: "old", target: `old_${id}`, requestId: "", details: "{}" });
    }
    await tx.put("counters", { id: "audit", value: count });
  });
}

async function withAudit(entries: number, work: (store: Store) => Promise<void>): Promise<void> {
  const { store, close } = openTestStore();
  try {
    for (let index = 1; index <= entries; index++) await append(store, `key_${index}`);
    await work(store);
  } finally {
    await close();
  }
}

test("an empty log and a log that nothing changed verify", () =>
  withAudit(0, async (store) => {
    expect(await checkAudit(store, signal)).toMatchObject({ entries: 0, chained: 0, fault: undefined });
    for (let index = 1; index <= 5; index++) await append(store, `key_${index}`);
    const { head, ...check } = await checkAudit(store, signal);
    expect(check).toEqual({ entries: 5, chained: 5, fault: undefined });
    expect(head).toEqual({ id: "audit", value: 5, hash: (await store.get("audit", 5))?.hash });
  }));

const corruptions: [name: string, kind: string, seq: number, spoil: (store: Store) => Promise<void>][] = [
  ["changed details", "chain", 3, (store) => plant(store, "audit", 3, { details: "{}" })],
  ["another actor", "chain", 2, (store) => plant(store, "audit", 2, { actorId: 8 })],
  ["another organization", "chain", 2, (store) => plant(store, "audit", 2, { organizationId: "org_2" })],
  ["another time", "chain", 5, (store) => plant(store, "audit", 5, { at: 999 })],
  ["a removed entry", "sequence", 4, (store) => plant(store, "audit", 3, "removed")],
  ["a removed last entry", "head", 5, (store) => plant(store, "audit", 5, "removed")],
  ["another last hash", "head", 5, (store) => plant(store, "counters", "audit", { hash: "0".repeat(64) })],
  ["an entry without its hash", "chain", 3, (store) => strip(store, [3])],
  ["a beginning that claims to be older than the chain", "chain", 3, (store) => strip(store, [1, 2])],
];

async function strip(store: Store, ids: readonly number[]): Promise<void> {
  await store.transaction("every", async (tx) => {
    for (const entry of await collect(tx.scan("audit"))) {
      const { hash: _, ...rest } = entry;
      if (ids.includes(entry.id)) await tx.put("audit", rest);
    }
  });
}

test.each(corruptions)("%s is found as %s at entry %i", (_name, kind, seq, spoil) =>
  withAudit(5, async (store) => {
    await spoil(store);
    expect((await checkAudit(store, signal)).fault).toMatchObject({ kind, seq });
  }),
);

test("entries from before the chain stay valid, and the chain starts after them", () =>
  withAudit(0, async (store) => {
    await appendUnchained(store, 3);
    expect(await checkAudit(store, signal)).toMatchObject({ entries: 3, chained: 0, fault: undefined });
    await append(store, "key_4");
    await append(store, "key_5");
    expect(await checkAudit(store, signal)).toMatchObject({ entries: 5, chained: 2, fault: undefined });
  }));

test("entries of transactions at the same time, some of which fail, are one chain without a gap", () =>
  withAudit(0, async (store) => {
    const writes = Array.from({ length: 300 }, (_, index) =>
      store.transaction("every", async (tx) => {
        await writeAudit(tx, { ...input, target: `key_${index}` }, index);
        if (index % 3 === 0) throw new Error("rolled back");
      }),
    );
    await Promise.allSettled(writes);
    expect(await checkAudit(store, signal)).toMatchObject({ entries: 200, chained: 200, fault: undefined });
  }));
