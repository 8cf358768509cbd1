import { slotOf } from "../../common/slots.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { LedgerEntry } from "../domain/records.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { DAY, plant, purchase, reportedCall, settle, withLedger } from "./ledger-fixture.ts";

const signal = new AbortController().signal;
const SLOTS = 4;
const ORGANIZATIONS = Array.from({ length: 12 }, (_, index) => `org_${index + 1}`);

/** A ledger with entries in every slot. */
const withSlots = (work: (store: Store) => Promise<void>) =>
  withLedger(
    async (store) => {
      for (const organizationId of ORGANIZATIONS)
        await purchase(store, { organizationId, amount: 500n, reference: `more_${organizationId}` });
      await settle(
        store,
        ORGANIZATIONS.map((organizationId, index) =>
          reportedCall(`call_of_${organizationId}`, BigInt(index + 1), { organizationId, createdAt: DAY }),
        ),
      );
      await work(store);
    },
    { slots: SLOTS },
  );

/** Entries of one slot with at least three, in their order. */
async function chainOf(store: Store): Promise<LedgerEntry[]> {
  const entries = await collect(store.scan("ledger"));
  const chains = Map.groupBy(entries, ({ organizationId }) => slotOf(organizationId, SLOTS));
  const chain = [...chains.values()].find(({ length }) => length > 3);
  if (!chain) throw new Error("a slot must have entries");
  return chain;
}

test("every slot has its own chain and its own accounts of the platform, and all of them verify together", () =>
  withSlots(async (store) => {
    const heads = await collect(store.scan("ledgerHead"));
    expect(heads.map(({ id }) => id)).toEqual(["0", "1", "2", "3"]);
    expect(await checkLedger(store, signal)).toMatchObject({
      ok: true,
      sum: 0n,
      entries: 30n,
      lastSeq: BigInt(Math.max(...heads.map(({ seq }) => seq))),
      firstBad: undefined,
    });
    const platform = (await collect(store.scan("accounts"))).map(({ id }) => id).filter((id) => !id.startsWith(organizationAccount("")));
    expect(platform.sort()).toEqual(["purchases", "revenue"].flatMap((name) => [0, 1, 2, 3].map((slot) => `${name}/${slot}`)));
  }));

test("numbers rise for each organization", () =>
  withSlots(async (store) => {
    await settle(store, [reportedCall("call_later", 3n, { organizationId: "org_5" })]);
    const seqs = (await collect(store.scan("ledger"))).filter(({ organizationId }) => organizationId === "org_5").map(({ id }) => id);
    expect(seqs).toHaveLength(3);
    expect((await store.get("usage", "call_later"))?.ledgerSeq).toBe(seqs.at(-1));
    expect(seqs.every((seq) => seq % SLOTS === slotOf("org_5", SLOTS))).toBe(true);
  }));

const corruptions: [name: string, kind: string, spoil: (store: Store, chain: LedgerEntry[]) => Promise<void>][] = [
  ["a changed entry", "chain", (store, [, second]) => plant(store, "ledger", second?.id ?? 0, { createdAt: 1 })],
  ["a removed entry", "sequence", (store, [, second]) => plant(store, "ledger", second?.id ?? 0, "removed")],
  ["a removed last entry", "head", (store, chain) => plant(store, "ledger", chain.at(-1)?.id ?? 0, "removed")],
  [
    "two entries in each other's place",
    "chain",
    async (store, [first, second]) => {
      if (!first || !second) throw new Error("the chain must have entries");
      await store.transaction("every", async (tx) => {
        for (const entry of [first, second]) await tx.remove("ledger", entry.id);
        await tx.put("ledger", { ...first, id: second.id });
        await tx.put("ledger", { ...second, id: first.id });
      });
    },
  ],
  ["a changed account of the platform", "balance", (store) => plant(store, "accounts", "revenue/2", { balance: 0n })],
  ["a removed head", "balance", (store) => plant(store, "ledgerHead", "1", "removed")],
];

test.each(corruptions)("in a ledger of slots, %s is found as %s", (_name, kind, spoil) =>
  withSlots(async (store) => {
    await spoil(store, await chainOf(store));
    expect(await checkLedger(store, signal)).toMatchObject({ ok: false, firstBad: { kind } });
  }),
);
