import fc from "fast-check";
import { organizationAccount } from "../domain/ledger.ts";
import type { PaymentEvent, PaymentFact } from "../domain/payments.ts";
import type { Purchase, Team } from "../domain/records.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { collect } from "../stores/page.ts";
import { openTestStore } from "../stores/test-store.ts";
import { post } from "./ledger.ts";
import { takePaymentEvent } from "./payments.ts";

const signal = new AbortController().signal;
const opened = openTestStore();
const { store } = opened;
afterAll(() => opened.close());

/** A purchase of its own organization that waits to be paid, and the events that the provider may send about it. */
async function newOrder() {
  const n = ++orders;
  const [purchaseId, organizationId, paymentId, checkoutId] = [`pur_${n}`, `org_${n}`, `pi_${n}`, `cs_${n}`];
  const purchase: Purchase = {
    id: purchaseId,
    organizationId,
    amount: 5_000n,
    method: "card",
    status: "pending",
    reference: checkoutId,
    checkoutUrl: `https://pay.example.org/${checkoutId}`,
    createdBy: 1,
    createdAt: 1,
  };
  const team: Team = { id: `team_${n}`, name: "t", nameKey: "t", organizationId, createdAt: 1, updatedAt: 1 };
  await store.transaction("every", async (tx) => {
    await tx.insert("teams", team);
    await tx.insert("purchases", purchase);
  });
  const currency = "usd";
  const paid: PaymentFact = { kind: "paid", purchaseId, checkoutId, paymentId, amount: 5_000n, currency };
  return {
    purchaseId,
    organizationId,
    teamId: team.id,
    account: organizationAccount(organizationId),
    paid,
    givenUp: { kind: "given-up", purchaseId, checkoutId } as PaymentFact,
    refund: (total: bigint): PaymentFact => ({ kind: "refunded", paymentId, total, currency }),
    dispute: (state: "open" | "won" | "lost", amount = 2_000n): PaymentFact => ({
      kind: "disputed",
      paymentId,
      disputeId: `dp_${n}`,
      amount,
      currency,
      state,
    }),
  };
}

type Order = Awaited<ReturnType<typeof newOrder>>;
let orders = 0;
let events = 0;
const event = (fact: PaymentFact | undefined): PaymentEvent => ({ id: `stripe/evt_${events++}`, type: fact?.kind ?? "other", fact });
const take = (each: PaymentEvent) => takePaymentEvent(store, each, 1000);

async function outcome({ purchaseId, organizationId, account }: Order) {
  const entries = await collect(store.scan("ledger", { index: "byOrganization", equals: [organizationId] }));
  return {
    status: (await store.get("purchases", purchaseId))?.status,
    balance: (await store.get("accounts", account))?.balance ?? 0n,
    credits: entries.filter(({ type }) => type === "purchase").length,
  };
}

/** Possible histories and the state each must end in, whatever the order of the events. */
const HISTORIES: readonly [string, (order: Order) => PaymentFact[], { status: string; balance: bigint }][] = [
  ["paid", ({ paid }) => [paid], { status: "completed", balance: 5_000n }],
  ["paid, reported by two events", ({ paid }) => [paid, paid], { status: "completed", balance: 5_000n }],
  ["a session that ran out", ({ givenUp }) => [givenUp], { status: "failed", balance: 0n }],
  ["paid although it was given up", ({ givenUp, paid }) => [givenUp, paid], { status: "completed", balance: 5_000n }],
  ["refunded in parts", ({ paid, refund }) => [paid, refund(1_000n), refund(3_000n)], { status: "completed", balance: 2_000n }],
  ["refunded in full", ({ paid, refund }) => [paid, refund(2_000n), refund(5_000n)], { status: "refunded", balance: 0n }],
  ["a dispute that is open", ({ paid, dispute }) => [paid, dispute("open")], { status: "completed", balance: 3_000n }],
  ["a dispute that was won", ({ paid, dispute }) => [paid, dispute("open"), dispute("won")], { status: "completed", balance: 5_000n }],
  [
    "a dispute that was lost",
    ({ paid, dispute }) => [paid, dispute("open", 5_000n), dispute("lost", 5_000n)],
    { status: "refunded", balance: 0n },
  ],
  [
    "a refund and a lost dispute",
    ({ paid, refund, dispute }) => [paid, refund(3_000n), dispute("open"), dispute("lost")],
    { status: "refunded", balance: 0n },
  ],
];

test.each(HISTORIES)(
  "%s: whatever the order and repetition of events, the credits are the same and posted once",
  async (_name, factsOf, end) => {
    const facts = factsOf(await newOrder()).length;
    const disorder = fc
      .array(fc.nat(facts - 1), { maxLength: 6 })
      .chain((repeats) => fc.shuffledSubarray([...Array(facts).keys(), ...repeats], { minLength: facts + repeats.length }));
    await fc.assert(
      fc.asyncProperty(disorder, async (sequence) => {
        const order = await newOrder();
        const made = factsOf(order).map(event);
        for (const index of sequence) await take(made[index] as PaymentEvent);
        expect(await outcome(order)).toEqual({ ...end, credits: factsOf(order).includes(order.paid) ? 1 : 0 });
      }),
      { numRuns: 25 },
    );
    expect(await checkLedger(store, signal)).toMatchObject({ ok: true, sum: 0n });
  },
);

test("a repeated event is recognized and changes nothing", async () => {
  const order = await newOrder();
  const once = event(order.paid);
  expect(await take(once)).toBe("applied");
  expect(await take(once)).toBe("repeated");
  expect(await take(event(undefined))).toBe("ignored");
  expect((await outcome(order)).balance).toBe(5_000n);
});

test.each<[string, Partial<Extract<PaymentFact, { kind: "paid" }>>]>([
  ["another amount", { amount: 50_000n }],
  ["another currency", { currency: "jpy" }],
  ["another checkout", { checkoutId: "cs_of_somebody_else" }],
])("%s than the purchase's is refused, with an audit line, and credits nothing", async (_name, change) => {
  const order = await newOrder();
  expect(await take(event({ ...order.paid, ...change } as PaymentFact))).toBe("refused");
  expect(await outcome(order)).toEqual({ status: "pending", balance: 0n, credits: 0 });
  const audit = await collect(store.scan("audit", { reverse: true, limit: 1 }));
  expect(audit.map(({ action, target }) => [action, target])).toEqual([["payment.mismatch", order.purchaseId]]);
  expect(await take(event(order.paid))).toBe("applied");
  expect((await outcome(order)).balance).toBe(5_000n);
});

test("what is paid to somebody else on the same account changes nothing here", async () => {
  const order = await newOrder();
  expect(await take(event({ ...order.paid, purchaseId: "pur_elsewhere" } as PaymentFact))).toBe("ignored");
  expect(await take(event({ ...order.refund(9n), currency: "eur" } as PaymentFact))).toBe("ignored");
  await take(event({ ...order.refund(9n), paymentId: "pi_elsewhere" } as PaymentFact));
  expect(await store.get("payments", "pi_elsewhere")).toMatchObject({ refunded: 9n, expiresAt: expect.any(Number) });
  expect(await outcome(order)).toEqual({ status: "pending", balance: 0n, credits: 0 });
});

test("a refund of credits that are used up blocks the teams, and webhooks are notified of purchase and block", async () => {
  const order = await newOrder();
  await take(event(order.paid));
  const spent = { type: "usage", organizationId: order.organizationId, from: order.account, to: "revenue", amount: 4_900n } as const;
  await store.transaction("every", (tx) => post(tx, { ...spent, reference: `call_${order.purchaseId}` }, 1000));
  await take(event(order.refund(5_000n)));
  expect((await store.get("teams", order.teamId))?.blockedByQuotaAt).toBe(1000);
  const notices = (await collect(store.scan("notices"))).filter(({ organizationId }) => organizationId === order.organizationId);
  expect(notices.map(({ type }) => type)).toEqual(["purchase.completed", "balance.blocked"]);
  expect(JSON.parse(notices[0]?.data ?? "")).toMatchObject({ purchase: { id: order.purchaseId, amount: 5_000 } });
});
