import fc from "fast-check";
import { silentLogger } from "../../common/logger.ts";
import { slotOf } from "../../common/slots.ts";
import { organizationAccount } from "../domain/ledger.ts";
import { plant } from "../proof/ledger-fixture.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { collect } from "../stores/page.ts";
import { organizationScope } from "../stores/scopes.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { post } from "../writes/ledger.ts";
import { payOut } from "../writes/outbox.ts";
import { deliverOutbox } from "./deliver-outbox.ts";

const signal = new AbortController().signal;
const SLOTS = 4;
const BUDGET = "training:fed_1";
/** One in each slot; the first pays the others. */
const ORGANIZATIONS = [0, 1, 2, 3].map((slot) => {
  const found = Array.from({ length: 100 }, (_, index) => `org_${index}`).find((id) => slotOf(id, SLOTS) === slot);
  if (found === undefined) throw new Error(`no name is of slot ${slot}`);
  return found;
});
const [PAYER = "", RECEIVER = ""] = ORGANIZATIONS;
const PAYER_SCOPES = (store: Store) => [organizationScope(store, PAYER), "federation:fed_1"] as const;

async function withBudget(work: (store: Store) => Promise<void>): Promise<void> {
  const { store, close } = openTestStore({ slots: SLOTS });
  try {
    const account = organizationAccount(PAYER);
    await store.transaction(PAYER_SCOPES(store), async (tx) => {
      await post(tx, { type: "purchase", organizationId: PAYER, from: "purchases", to: account, amount: 10_000n, reference: "pur_1" }, 1);
      await post(tx, { type: "reward", organizationId: PAYER, from: account, to: BUDGET, amount: 9_000n, reference: "fund_1" }, 1);
    });
    await work(store);
  } finally {
    await close();
  }
}

/** As the commit of a round pays a participant: in a transaction of the paying organization's slot alone. */
const pay = (store: Store, reference: string, amount = 40n, toOrganizationId = RECEIVER) =>
  store.transaction(PAYER_SCOPES(store), (tx) =>
    payOut(tx, { type: "reward", fromOrganizationId: PAYER, toOrganizationId, from: BUDGET, amount, reference }, 2),
  );
const deliver = (store: Store, owns: (slot: number) => boolean = () => true) =>
  deliverOutbox(3, { store: changed(store, { owns }), logger: silentLogger });
const balanceOf = async (store: Store, account: string) => (await store.get("accounts", account))?.balance ?? 0n;

test("a payment to another slot leaves at once, arrives with the job, and the ledger verifies before, between and after", () =>
  withBudget(async (store) => {
    await pay(store, "pay_1");
    expect(await store.count("outbox")).toBe(1);
    expect([await balanceOf(store, BUDGET), await balanceOf(store, "transit/0")]).toEqual([8_960n, 40n]);
    expect([await balanceOf(store, organizationAccount(PAYER)), await balanceOf(store, organizationAccount(RECEIVER))]).toEqual([
      1_000n,
      0n,
    ]);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
    await deliver(store, (slot) => slot === 1);
    expect(await balanceOf(store, organizationAccount(RECEIVER))).toBe(40n);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
    expect(await store.count("outbox")).toBe(1);
    await deliver(store, (slot) => slot === 0);
    expect(await store.count("outbox")).toBe(0);
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
    const statement = (await collect(store.scan("ledger"))).filter(({ organizationId }) => organizationId === RECEIVER);
    expect(statement.map(({ reference, type, from, amount }) => [reference, type, from, amount])).toEqual([
      ["pay_1", "reward", "transit/1", 40n],
    ]);
    expect((await store.get("accounts", organizationAccount(RECEIVER)))?.rewarded).toBe(40n);
    expect((await store.get("accounts", organizationAccount(PAYER)))?.rewarded).toBe(-9_000n);
  }));

test("a payment within one slot is one entry, without transit and outbox", () =>
  withBudget(async (store) => {
    const neighbor = Array.from({ length: 100 }, (_, index) => `neighbor_${index}`).find((id) => slotOf(id, SLOTS) === 0) ?? "";
    await pay(store, "pay_1", 40n, neighbor);
    expect([await store.count("outbox"), await store.count("ledger")]).toEqual([0, 3]);
    expect(await balanceOf(store, organizationAccount(neighbor))).toBe(40n);
  }));

test("the payer's teams are neither blocked nor unblocked by what passes through its account", () =>
  withBudget(async (store) => {
    const team = { id: "team_1", name: "t", nameKey: "t", organizationId: PAYER, createdAt: 1, updatedAt: 1 };
    await store.transaction("every", async (tx) => {
      await tx.insert("teams", team);
      const account = organizationAccount(PAYER);
      await post(tx, { type: "adjustment", organizationId: PAYER, from: account, to: "grants", amount: 1_010n, reference: "less" }, 2);
    });
    const blocked = await store.get("teams", "team_1");
    expect(blocked?.blockedByQuotaAt).toBe(2);
    const feed = await store.count("feed");
    await pay(store, "pay_1", 40n);
    expect(await store.get("teams", "team_1")).toEqual(blocked);
    expect(await store.count("feed")).toBe(feed);
  }));

/** A store whose transactions may end before they run, or be committed without an answer, as if the process were killed there. */
function killing(store: Store, next: () => "run" | "before" | "after"): Store {
  const transaction = async (...given: Parameters<Store["transaction"]>) => {
    const fate = next();
    if (fate === "before") throw new Error("killed before");
    const result = await store.transaction(...given);
    if (fate === "after") throw new Error("killed after");
    return result;
  };
  return changed(store, { transaction: transaction as Store["transaction"] });
}

/** The store with other members. */
function changed(store: Store, members: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const member = (Reflect.get(members, name) ?? Reflect.get(target, name)) as unknown;
      return typeof member === "function" && !(name in members) ? member.bind(target) : member;
    },
  });
}

test("whoever owns which slots and dies wherever, each payment arrives exactly once, and the ledger verifies all the way", async () => {
  const fate = fc.constantFrom("run" as const, "before" as const, "after" as const);
  const step = fc.oneof(
    fc.record({ kind: fc.constant("pay" as const), to: fc.integer({ min: 1, max: 3 }), amount: fc.bigInt({ min: 1n, max: 100n }) }),
    fc.record({
      kind: fc.constant("deliver" as const),
      owned: fc.array(fc.subarray([0, 1, 2, 3]), { minLength: 1, maxLength: 2 }),
      fates: fc.array(fate, { maxLength: 8 }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) =>
      withBudget(async (store) => {
        const owed = new Map<string, bigint>();
        for (const [index, given] of steps.entries()) {
          if (given.kind === "pay") {
            const to = ORGANIZATIONS[given.to] ?? "";
            await pay(store, `pay_${index}`, given.amount, to);
            owed.set(to, (owed.get(to) ?? 0n) + given.amount);
          } else {
            const fates = [...given.fates];
            const mortal = killing(store, () => fates.shift() ?? "run");
            await Promise.all(given.owned.map((slots) => deliver(mortal, (slot) => slots.includes(slot))));
          }
          expect((await checkLedger(store, signal)).firstBad).toBeUndefined();
        }
        await deliver(store);
        expect(await store.count("outbox")).toBe(0);
        for (const id of ORGANIZATIONS.slice(1)) expect(await balanceOf(store, organizationAccount(id))).toBe(owed.get(id) ?? 0n);
        expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
      }),
    ),
    { numRuns: 25 },
  );
});

const corruptions: [name: string, reason: RegExp, spoil: (store: Store) => Promise<void>][] = [
  ["a lost outbox row", /neither arrived nor waits in the outbox/, (store) => plant(store, "outbox", "pay_2", "removed")],
  ["an outbox row of another amount", /outbox row says 41/, (store) => plant(store, "outbox", "pay_2", { amount: 41n })],
  [
    "an outbox row that nothing paid for",
    /no entry of its amount/,
    async (store) => {
      const row = await store.get("outbox", "pay_2");
      if (row) await store.transaction("every", (tx) => tx.insert("outbox", { ...row, id: "pay_x" }));
    },
  ],
  [
    "a payment that arrives and never left",
    /arrived and never left/,
    async (store) => {
      const to = organizationAccount(RECEIVER);
      const forged = { type: "reward", organizationId: RECEIVER, from: "transit", to, amount: 5n, reference: "pay_y" } as const;
      await store.transaction("every", (tx) => post(tx, forged, 4));
    },
  ],
];

test.each(corruptions)("%s is found", (_name, reason, spoil) =>
  withBudget(async (store) => {
    await pay(store, "pay_1");
    await deliver(store);
    await pay(store, "pay_2");
    await spoil(store);
    expect(await checkLedger(store, signal)).toMatchObject({
      ok: false,
      firstBad: { kind: "transit", reason: expect.stringMatching(reason) },
    });
  }),
);

test("an outbox row that nothing paid for is not delivered, and does not hold up others", () =>
  withBudget(async (store) => {
    await pay(store, "pay_2");
    const row = await store.get("outbox", "pay_2");
    if (!row) throw new Error("the row must be there");
    await store.transaction("every", async (tx) => {
      await tx.insert("outbox", { ...row, id: "pay_1" });
      await tx.insert("outbox", { ...row, id: "pay_3", amount: 4_000n });
    });
    await deliver(store);
    expect(await balanceOf(store, organizationAccount(RECEIVER))).toBe(40n);
    expect((await collect(store.scan("outbox"))).map(({ id }) => id)).toEqual(["pay_1", "pay_3"]);
  }));
