import { setTimeout as sleep } from "node:timers/promises";
import Stripe from "stripe";
import type { Clock } from "../../common/clock.ts";
import { type StripeMock, startStripeMock } from "../../test/helpers/stripe-mock.ts";
import { createStripePayments } from "./stripe.ts";

const webhookSecret = "whsec_of_the_test";
const stripe = new Stripe("sk_test_123");
let now = Date.UTC(2026, 0, 2);
const clock: Clock = { now: () => now, monotonicMs: () => now, sleep: async () => {}, after: () => () => {} };

let mock: StripeMock;
beforeAll(async () => {
  mock = await startStripeMock();
}, 300_000);
afterAll(() => mock?.stop());

const payments = (apiBase = mock.url) =>
  createStripePayments({ secretKey: "sk_test_123", webhookSecret, apiBase }, { clock, publicUrl: "https://gw.example.org" });

const signed = (event: object, { secret = webhookSecret, at = now }: { secret?: string; at?: number } = {}) => {
  const payload = JSON.stringify(event);
  const header = stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: Math.floor(at / 1000) });
  return { payload: Buffer.from(payload), header };
};
const read = (event: object, options?: { secret?: string; at?: number }) => {
  const { payload, header } = signed(event, options);
  return payments().readEvent(payload, header);
};
const eventOf = (type: string, object: object) => ({ id: "evt_1", object: "event", type, data: { object } });
const session = (change: object = {}) => ({
  id: "cs_1",
  object: "checkout.session",
  metadata: { purchase_id: "pur_1" },
  client_reference_id: "pur_1",
  payment_intent: "pi_1",
  payment_status: "paid",
  amount_total: 1250,
  currency: "usd",
  ...change,
});

describe("checkout, against Stripe's own double", () => {
  const order = { purchaseId: "pur_1", organizationName: "Acme", email: "a@example.org", amount: 12_500_000_000n };

  test("the request is one that Stripe takes, in whole cents, under the purchase's id", async () => {
    const checkout = await payments().createCheckout(order);
    expect(checkout.id).toMatch(/^cs_/);
    expect(checkout.url).toMatch(/^https:\/\//);
    // It prints what it was asked a moment after it has answered.
    for (let waitedMs = 0; waitedMs < 5000 && !mock.log().includes("unit_amount"); waitedMs += 20) await sleep(20);
    expect(mock.log()).toMatch(/unit_amount:1250\b/);
    expect(mock.log()).toMatch(/purchase_id:pur_1/);
  });

  test("a request that Stripe refuses, or a Stripe that is away, is one clear error", async () => {
    await expect(payments().createCheckout({ ...order, amount: -10_000_000n * 2n ** 80n })).rejects.toMatchObject({
      code: "UPSTREAM_UNAVAILABLE",
    });
    await expect(payments("http://127.0.0.1:9").createCheckout(order)).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  });
});

describe("events", () => {
  test.each([
    [
      "checkout.session.completed",
      session(),
      { kind: "paid", purchaseId: "pur_1", checkoutId: "cs_1", paymentId: "pi_1", amount: 12_500_000_000n, currency: "usd" },
    ],
    [
      "checkout.session.async_payment_succeeded",
      session({ payment_intent: { id: "pi_2" } }),
      { kind: "paid", purchaseId: "pur_1", checkoutId: "cs_1", paymentId: "pi_2", amount: 12_500_000_000n, currency: "usd" },
    ],
    ["checkout.session.completed", session({ payment_status: "unpaid" }), undefined],
    ["checkout.session.completed", session({ metadata: {}, client_reference_id: "order of another shop" }), undefined],
    ["checkout.session.expired", session(), { kind: "given-up", purchaseId: "pur_1", checkoutId: "cs_1" }],
    ["checkout.session.async_payment_failed", session(), { kind: "given-up", purchaseId: "pur_1", checkoutId: "cs_1" }],
    [
      "charge.refunded",
      { payment_intent: "pi_1", amount: 1250, amount_refunded: 250, currency: "usd" },
      { kind: "refunded", paymentId: "pi_1", total: 2_500_000_000n, currency: "usd" },
    ],
    [
      "charge.dispute.created",
      { id: "dp_1", payment_intent: "pi_1", amount: 1250, currency: "usd", status: "needs_response" },
      { kind: "disputed", paymentId: "pi_1", disputeId: "dp_1", amount: 12_500_000_000n, currency: "usd", state: "open" },
    ],
    [
      "charge.dispute.created",
      { id: "dp_1", payment_intent: "pi_1", amount: 1250, currency: "usd", status: "warning_needs_response" },
      undefined,
    ],
    [
      "charge.dispute.closed",
      { id: "dp_1", payment_intent: "pi_1", amount: 1250, currency: "usd", status: "lost" },
      { kind: "disputed", paymentId: "pi_1", disputeId: "dp_1", amount: 12_500_000_000n, currency: "usd", state: "lost" },
    ],
    ["customer.created", { id: "cus_1" }, undefined],
  ])("%s is read as the fact it tells", (type, object, fact) => {
    expect(read(eventOf(type, object))).toEqual({ id: "stripe/evt_1", type, fact });
  });

  const refusal = expect.objectContaining({ code: "VALIDATION_ERROR" });

  test("only what Stripe signed, in the last minutes, is believed", () => {
    const event = eventOf("checkout.session.completed", session());
    expect(read(event, { at: now - 290_000 }).id).toBe("stripe/evt_1");
    expect(() => read(event, { secret: "whsec_of_somebody_else" })).toThrow(refusal);
    expect(() => read(event, { at: now - 310_000 })).toThrow(refusal);
    // A signature from the future could be replayed until its time has come.
    expect(read(event, { at: now + 290_000 }).id).toBe("stripe/evt_1");
    for (const seconds of [310, 3600, 86_400 * 365]) expect(() => read(event, { at: now + seconds * 1000 })).toThrow(refusal);
    const { payload, header } = signed(event);
    const changed = Buffer.from(payload.toString().replace("1250", "9950"));
    for (const [bytes, signature] of [
      [changed, header],
      [payload, ""],
      [payload, "t=1,v1=00"],
      [payload, header.replace(/v1=./, "v1=")],
    ] as const) {
      expect(() => payments().readEvent(bytes, signature)).toThrow(refusal);
    }
    now += 600_000;
    expect(() => payments().readEvent(payload, header)).toThrow(refusal);
  });
});
