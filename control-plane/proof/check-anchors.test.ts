import fc from "fast-check";
import { slotOf } from "../../common/slots.ts";
import { anchorHash } from "../domain/anchors.ts";
import { entryHash, organizationAccount } from "../domain/ledger.ts";
import type { LedgerEntry } from "../domain/records.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { anchorHeads } from "../writes/anchors.ts";
import { DAY, plant, purchase, reportedCall, settle, withLedger } from "./ledger-fixture.ts";

const signal = new AbortController().signal;
const SLOTS = 4;
/** One in each slot. */
const ORGANIZATIONS = [0, 1, 2, 3].map((slot) => {
  const found = Array.from({ length: 100 }, (_, index) => `org_${index}`).find((id) => slotOf(id, SLOTS) === slot);
  if (found === undefined) throw new Error(`no name is of slot ${slot}`);
  return found;
});
const [ORG_A = "", ORG_B = ""] = ORGANIZATIONS;

const anchor = (store: Store) => anchorHeads(store, () => DAY);
const buy = (store: Store, organizationId: string, reference: string) => purchase(store, { organizationId, amount: 10n, reference });
const anchors = (store: Store) => collect(store.scan("anchors"));

/** Three anchors: of all slots, of one slot, of another. */
async function withAnchors(work: (store: Store) => Promise<void>): Promise<void> {
  const { store, close } = openTestStore({ slots: SLOTS });
  try {
    for (const organizationId of ORGANIZATIONS) await buy(store, organizationId, `first_${organizationId}`);
    await anchor(store);
    await buy(store, ORG_A, "second");
    await anchor(store);
    await buy(store, ORG_B, "third");
    await settle(store, [reportedCall("call_1", 3n, { organizationId: ORG_B })]);
    await anchor(store);
    await work(store);
  } finally {
    await close();
  }
}

test("an anchor lists the slots that changed, covers the anchor before, and is not written without a change", () =>
  withAnchors(async (store) => {
    const written = await anchors(store);
    expect(written.map(({ id, heads }) => [id, heads.map(([slot]) => slot)])).toEqual([
      [1, [0, 1, 2, 3]],
      [2, [0]],
      [3, [1]],
    ]);
    expect(written[2]?.previous).toBe(written[1]?.hash);
    await anchor(store);
    await Promise.all([anchor(store), anchor(store)]);
    expect(await anchors(store)).toEqual(written);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, anchors: 3n, hash: written[2]?.hash, firstBad: undefined });
  }));

test("entries after the newest anchor verify too", () =>
  withAnchors(async (store) => {
    await buy(store, ORG_A, "fourth");
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, anchors: 3n, entries: 8n });
  }));

test("whatever is posted and anchored in whatever order, the ledger verifies, and anchors name each change once", async () => {
  const steps = fc.array(fc.oneof({ weight: 3, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.constant("anchor" as const) }), {
    maxLength: 25,
  });
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(1, SLOTS), async (given, slots) => {
      const { store, close } = openTestStore({ slots });
      try {
        let changed = new Set<number>();
        const expected: number[][] = [];
        for (const [index, step] of [...given, "anchor" as const].entries()) {
          if (step === "anchor") {
            await anchor(store);
            if (changed.size > 0) expected.push([...changed].sort());
            changed = new Set();
          } else {
            const organizationId = ORGANIZATIONS[step] ?? ORG_A;
            await buy(store, organizationId, `ref_${index}`);
            changed.add(slotOf(organizationId, slots));
          }
        }
        expect((await anchors(store)).map(({ heads }) => heads.map(([slot]) => slot))).toEqual(expected);
        expect(await checkLedger(store, signal)).toMatchObject({ ok: true, anchors: BigInt(expected.length) });
      } finally {
        await close();
      }
    }),
    { numRuns: 25 },
  );
});

/** Goes back to before the last entry of a slot, with its accounts, as a restored backup of that slot would be. */
async function goBack(store: Store, organizationId: string): Promise<void> {
  const slot = slotOf(organizationId, SLOTS);
  const chain = (await collect(store.scan("ledger"))).filter((entry) => slotOf(entry.organizationId, SLOTS) === slot);
  const [last, before] = [chain.at(-1), chain.at(-2)];
  if (!last || !before) throw new Error("the slot must have two entries");
  await store.transaction("every", async (tx) => {
    await tx.remove("ledger", last.id);
    await tx.put("ledgerHead", { id: String(slot), seq: before.id, hash: before.hash });
    for (const [id, amount] of [[last.from, last.amount] as const, [last.to, -last.amount] as const]) {
      const account = await tx.get("accounts", id);
      if (!account) throw new Error("the account must be there");
      const purchased = id === organizationAccount(organizationId) ? account.purchased + amount : account.purchased;
      await tx.put("accounts", { ...account, balance: account.balance + amount, seq: before.id, purchased });
    }
  });
}

/** Changes an entry and everything chained after it in its slot. */
async function forge(store: Store, first: LedgerEntry): Promise<void> {
  const slot = slotOf(first.organizationId, SLOTS);
  const chain = (await collect(store.scan("ledger"))).filter((entry) => slotOf(entry.organizationId, SLOTS) === slot);
  let previous = "0".repeat(64);
  await store.transaction("every", async (tx) => {
    for (const { hash: _, ...entry } of chain) {
      const forged = entry.id === first.id ? { ...entry, note: "forged" } : entry;
      previous = entryHash(previous, forged);
      await tx.put("ledger", { ...forged, hash: previous });
    }
    await tx.put("ledgerHead", { id: String(slot), seq: chain.at(-1)?.id ?? 0, hash: previous });
  });
}

const corruptions: [name: string, record: string, reason: RegExp, spoil: (store: Store) => Promise<void>][] = [
  ["a removed anchor", "anchor 3", /anchor 2 is missing/, (store) => plant(store, "anchors", 2, "removed")],
  ["a removed newest anchor", "anchor 3", /end at 2, the newest is 3/, (store) => plant(store, "anchors", 3, "removed")],
  ["a changed anchor", "anchor 2", /hash does not follow/, (store) => plant(store, "anchors", 2, { at: 1 })],
  [
    "a changed newest hash",
    "anchor 3",
    /not the newest anchor's/,
    (store) => plant(store, "counters", "anchors", { hash: "0".repeat(64) }),
  ],
  [
    "an anchor rewritten with its hash",
    "anchor 3",
    /hash does not follow/,
    async (store) => {
      const [, second] = await anchors(store);
      if (!second) throw new Error("the anchor must be there");
      const { hash: _, ...content } = { ...second, at: 1 };
      await store.transaction("every", (tx) => tx.put("anchors", { ...content, hash: anchorHash(content) }));
    },
  ],
  ["a head that went back", "anchor 2", /slot 0 was at entry \d+, its head is at \d+/, (store) => goBack(store, ORG_A)],
  [
    "a chain rewritten from one entry on, with its head",
    "anchor 1",
    /which has another hash now/,
    async (store) => {
      const entry = await store.find("ledger", "byReference", [`first_${ORG_A}`]);
      if (entry) await forge(store, entry);
    },
  ],
];

test.each(corruptions)("%s is found at %s", (_name, record, reason, spoil) =>
  withAnchors(async (store) => {
    await spoil(store);
    expect(await checkLedger(store, signal)).toMatchObject({
      ok: false,
      firstBad: { kind: "anchor", record, reason: expect.stringMatching(reason) },
    });
  }),
);

test("anchors that are written while it reads never make it fail", () =>
  withLedger(async (store) => {
    await anchor(store);
    let reads = 0;
    const busy = new Proxy(store, {
      get(target, name) {
        const member = Reflect.get(target, name) as unknown;
        if (name !== "getMany") return typeof member === "function" ? member.bind(target) : member;
        return async (...given: Parameters<Store["getMany"]>) => {
          if (reads++ < 3) {
            await purchase(target, { organizationId: "org_1", amount: 1n, reference: `while_${reads}` });
            await anchor(target);
          }
          return target.getMany(...given);
        };
      },
    });
    expect(await checkLedger(busy, signal)).toMatchObject({ ok: true, anchors: 1n });
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, anchors: 4n });
  }));
