import Stripe from "stripe";
import { adminToken, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { type StripeMock, startStripeMock } from "../helpers/stripe-mock.ts";
import { type System, startSystem } from "../helpers/system.ts";
import * as records from "./records.ts";
import { type Ask, expectError, within } from "./support.ts";

const SECRET = "whsec_of_the_contract";
const PATH = "/api/webhooks/payments/stripe";
const stripe = new Stripe("sk_test_123");

let mock: StripeMock;
let system: System;
let admin: string;
let ask: Ask;
beforeAll(async () => {
  mock = await startStripeMock();
  const env = { STRIPE_SECRET_KEY: "sk_test_123", STRIPE_WEBHOOK_SECRET: SECRET, STRIPE_API_BASE: mock.url };
  system = await startSystem({ env });
  admin = await adminToken(system);
  ask = (method, path, options) => call(system.url, method, path, options);
}, 300_000);
afterAll(async () => {
  await system?.stop();
  await mock?.stop();
});

interface Order {
  tenant: Tenant;
  id: string;
  checkout: string;
  payment: string;
}

const order = async (tenant?: Tenant): Promise<Order> => {
  const buyer = tenant ?? (await newTenant(system));
  const body = { amountUsd: "12.50", method: "card" };
  const answer = await ask("POST", "/api/credits/purchase", { token: buyer.token, body });
  if (answer.status !== 201) throw new Error(`the order answered ${answer.status}: ${answer.text}`);
  const { id, reference } = answer.body.purchase;
  return { tenant: buyer, id, checkout: reference, payment: `pi_${id}` };
};

let events = 0;
const eventOf = (type: string, object: object) => ({ id: `evt_${process.pid}_${events++}`, object: "event", type, data: { object } });
const paid = ({ id, checkout, payment }: Order, change: object = {}) =>
  eventOf("checkout.session.completed", {
    id: checkout,
    object: "checkout.session",
    client_reference_id: id,
    metadata: { purchase_id: id },
    payment_intent: payment,
    payment_status: "paid",
    amount_total: 1250,
    currency: "usd",
    ...change,
  });
const refunded = ({ payment }: Order, cents: number) =>
  eventOf("charge.refunded", { id: "ch_1", payment_intent: payment, amount: 1250, amount_refunded: cents, currency: "usd" });
const disputed = ({ payment, id }: Order, status: string) =>
  eventOf(status === "needs_response" ? "charge.dispute.created" : "charge.dispute.closed", {
    id: `dp_${id}`,
    payment_intent: payment,
    amount: 1250,
    currency: "usd",
    status,
  });

/** As Stripe sends it. */
const send = (event: object, { secret = SECRET, atSeconds = Math.floor(Date.now() / 1000) } = {}) => {
  const payload = JSON.stringify(event);
  const header = stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: atSeconds });
  return ask("POST", PATH, { body: payload, headers: { "stripe-signature": header } });
};
const balanceOf = async ({ token }: Tenant): Promise<number> => (await ask("GET", "/api/balance", { token })).body.balance;
const purchaseOf = async ({ tenant, id }: Order) =>
  (await ask("GET", "/api/credits/purchases", { token: tenant.token })).body.data.find((each: { id: string }) => each.id === id);
const receiptOf = ({ tenant, id }: Order, token = tenant.token) => ask("GET", `/api/credits/purchases/${id}/receipt`, { token });

test("where cards are paid with there are no test credits, and a purchase without a method is by card", async () => {
  const { token } = await newTenant(system);
  const buy = (method?: string) => ask("POST", "/api/credits/purchase", { token, body: { amountUsd: "1000.00", method } });
  const refused = await buy("test");
  expectError(refused, 400, "VALIDATION_ERROR", "method");
  expect(refused.text).toContain("TEST_CREDITS=true");
  expect(await buy()).toMatchObject({ status: 201, body: { purchase: { method: "card", status: "pending" }, balance: 0 } });
  expect((await ask("GET", "/api/quota", { token })).body.quota.paymentMethods).toEqual(["card"]);
});

test("by card: the purchase waits with an address to pay at, and credits nothing yet", async () => {
  const tenant = await newTenant(system);
  const answer = await ask("POST", "/api/credits/purchase", { token: tenant.token, body: { amount: 500_000_000, method: "card" } });
  expect(answer.status).toBe(201);
  records.expectShape(records.purchase, answer.body.purchase);
  expect(answer.body).toMatchObject({
    balance: 0,
    purchase: { method: "card", status: "pending", checkoutUrl: expect.stringMatching(/^https:\/\//), completedAt: null },
  });
  expect(await balanceOf(tenant)).toBe(0);
});

test.each([
  [1, "cents"],
  [490_000_000, "0.50"],
  [1_000_000_000_000_000, "999,999.99"],
])("%d nano-USD by card is 400: %s", async (amount, reason) => {
  const tenant = await newTenant(system);
  const answer = await ask("POST", "/api/credits/purchase", { token: tenant.token, body: { amount, method: "card" } });
  expectError(answer, 400, "VALIDATION_ERROR", "amount");
  expect(answer.body.error).toContain(reason);
});

test("the same Idempotency-Key is the same purchase and the same page", async () => {
  const { token } = await newTenant(system);
  const options = { token, body: { amountUsd: "5", method: "card" }, headers: { "idempotency-key": "once" } };
  const [first, second] = [await ask("POST", "/api/credits/purchase", options), await ask("POST", "/api/credits/purchase", options)];
  expect(second.body).toEqual(first.body);
  expect(second.headers.get("idempotent-replayed")).toBe("true");
  expect((await ask("GET", "/api/credits/purchases", { token })).body.meta.total).toBe(1);
});

test("when Stripe says it is paid the credits are there, once, however often it says so", async () => {
  const bought = await order();
  const event = paid(bought);
  expect((await send(event)).body).toEqual({ received: true, outcome: "applied" });
  const again = await Promise.all([send(event), send(event), send(event), send(paid(bought))]);
  expect(again.map(({ status, body }) => [status, body.outcome])).toEqual([
    [200, "repeated"],
    [200, "repeated"],
    [200, "repeated"],
    [200, "applied"],
  ]);
  expect(await balanceOf(bought.tenant)).toBe(12_500_000_000);
  expect(await purchaseOf(bought)).toMatchObject({ status: "completed", checkoutUrl: null, completedAt: expect.any(String) });
  const { body: ledger } = await ask("GET", "/api/credits/ledger", { token: bought.tenant.token });
  expect(ledger.data).toMatchObject([{ type: "purchase", amount: 12_500_000_000, purchaseId: bought.id }]);
});

test("many events at the same moment credit once", async () => {
  const bought = await order();
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(paid(bought))));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await balanceOf(bought.tenant)).toBe(12_500_000_000);
});

test("only Stripe can report a payment", async () => {
  const bought = await order();
  expectError(await send(paid(bought), { secret: "whsec_of_somebody_else" }), 400, "VALIDATION_ERROR");
  expectError(await send(paid(bought), { atSeconds: Math.floor(Date.now() / 1000) - 600 }), 400, "VALIDATION_ERROR");
  expectError(await ask("POST", PATH, { body: paid(bought) }), 400, "VALIDATION_ERROR");
  expectError(await ask("POST", PATH, { body: paid(bought), headers: { "stripe-signature": "t=1,v1=00" } }), 400, "VALIDATION_ERROR");
  expect((await ask("GET", PATH)).status).toBe(405);
  expect(await balanceOf(bought.tenant)).toBe(0);
});

test("another amount or currency than was ordered credits nothing, and is in the audit log", async () => {
  const bought = await order();
  for (const change of [{ amount_total: 9999 }, { currency: "eur" }]) {
    expect((await send(paid(bought, change))).body.outcome).toBe("refused");
  }
  expect(await balanceOf(bought.tenant)).toBe(0);
  const { body } = await ask("GET", "/api/admin/audit?action=payment.mismatch", { token: admin });
  expect(body.data.filter(({ target }: { target: string }) => target === bought.id)).toHaveLength(2);
});

test("a session that ran out is failed; one that was not paid yet waits for the event that it was", async () => {
  const [late, slow] = [await order(), await order()];
  await send(eventOf("checkout.session.expired", { id: late.checkout, metadata: { purchase_id: late.id } }));
  expect(await purchaseOf(late)).toMatchObject({ status: "failed", checkoutUrl: null });
  expect((await send(paid(slow, { payment_status: "unpaid" }))).body.outcome).toBe("ignored");
  expect(await purchaseOf(slow)).toMatchObject({ status: "pending" });
  const succeeded = { ...paid(slow), type: "checkout.session.async_payment_succeeded" };
  expect((await send(succeeded)).body.outcome).toBe("applied");
  expect(await balanceOf(slow.tenant)).toBe(12_500_000_000);
});

test("refunds and disputes take credits back and show in ledger and receipt, in whatever order they are reported", async () => {
  const bought = await order();
  expectError(await receiptOf(bought), 400, "VALIDATION_ERROR");
  // The refund overtakes the payment.
  await send(refunded(bought, 250));
  expect(await balanceOf(bought.tenant)).toBe(0);
  await send(paid(bought));
  expect(await balanceOf(bought.tenant)).toBe(10_000_000_000);
  await send(disputed(bought, "needs_response"));
  expect(await balanceOf(bought.tenant)).toBe(-2_500_000_000);
  expect((await ask("GET", `/api/gw/teams/${bought.tenant.teamId}`, { token: bought.tenant.token })).body.team.status).toBe("blocked");
  await send(disputed(bought, "won"));
  await send(disputed(bought, "needs_response"));
  expect(await balanceOf(bought.tenant)).toBe(10_000_000_000);
  expect(await purchaseOf(bought)).toMatchObject({ status: "completed" });
  await send(refunded(bought, 1250));
  expect(await balanceOf(bought.tenant)).toBe(0);
  expect(await purchaseOf(bought)).toMatchObject({ status: "refunded" });

  const { status, body } = await receiptOf(bought);
  expect(status).toBe(200);
  expect(body.receipt).toMatchObject({
    purchaseId: bought.id,
    organization: { id: bought.tenant.organizationId },
    amount: 12_500_000_000,
    amountUsd: "12.50",
    returned: 12_500_000_000,
    net: 0,
    currency: "USD",
    method: "card",
    status: "refunded",
  });
  const moved = body.receipt.entries.map(({ type, amount }: { type: string; amount: number }) => [type, amount]);
  expect(moved).toEqual([
    ["purchase", 12_500_000_000],
    ["refund", -2_500_000_000],
    ["adjustment", -12_500_000_000],
    ["adjustment", 12_500_000_000],
    ["refund", -10_000_000_000],
  ]);
  expectError(await receiptOf(bought, (await newTenant(system)).token), 404, "NOT_FOUND");
});

test("credits that were refunded cannot be spent any more, not even by an edge that had some of them", async () => {
  const bought = await order();
  await send(paid(bought));
  expect((await chat(system, bought.tenant.key, "while there is credit")).status).toBe(200);
  await send(refunded(bought, 1250));
  expect(await balanceOf(bought.tenant)).toBeLessThan(0);
  const refused = await chat(system, bought.tenant.key, "after the refund");
  expect([refused.status, refused.body.error.code]).toEqual([403, "TEAM_BLOCKED"]);
});

test("the ledger is whole after all of it", async () => {
  expect((await ask("GET", "/api/admin/ledger/verify", { token: admin })).body).toMatchObject({ ok: true, sum: 0 });
});

test("a body that is too large is refused before it is read", async () => {
  const answer = await ask("POST", PATH, { body: "x".repeat(300 * 1024), headers: { "stripe-signature": "t=1,v1=00" } });
  expectError(answer, 413, "VALIDATION_ERROR");
});

test("a purchase outlives the control plane: what was ordered before is credited after", async () => {
  const bought = await order();
  await system.killControlPlane();
  // As Stripe does: the same event again until it is taken.
  const event = paid(bought);
  await within(
    10_000,
    () => send(event),
    ({ status }) => status === 200,
  );
  expect(await balanceOf(bought.tenant)).toBe(12_500_000_000);
});
