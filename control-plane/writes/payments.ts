import { toUsdString } from "../../common/money.ts";
import { organizationAccount } from "../domain/ledger.ts";
import type { Payment, PaymentEventRow } from "../domain/payment-records.ts";
import { CURRENCY, newPayment, type PaymentEvent, type PaymentFact, paidStatus, withDispute, withRefund } from "../domain/payments.ts";
import type { Purchase } from "../domain/records.ts";
import { organizationScope, type Scope } from "../stores/scopes.ts";
import type { Reader, Store, Transaction } from "../stores/store.ts";
import { writeAudit } from "./audit.ts";
import { post } from "./ledger.ts";
import { notify } from "./notices.ts";
import { postReturns } from "./payment-returns.ts";

const DAY_MS = 24 * 3_600_000;
/** Longer than the provider resends an event. An even later repeat still changes nothing, because totals only grow. */
const EVENT_MS = 90 * DAY_MS;
/** Longer than the provider retries delivery: by then the purchase of a payment is known, or the payment is not ours. */
const STRAY_MS = 30 * DAY_MS;

/** What an event did; `repeated` was processed before. */
export type PaymentOutcome = PaymentEventRow["outcome"] | "repeated";

/**
 * Applies an event of the payment provider: the credit, the event and everything that follows in one transaction. Events may be repeated,
 * late and in any order. Each adds a fact to the payment, and the ledger is brought to the state that all facts together describe.
 */
export async function takePaymentEvent(store: Store, event: PaymentEvent, now: number): Promise<PaymentOutcome> {
  const { fact } = event;
  if (!fact) return "ignored";
  for (;;) {
    const organizationId = await organizationOf(store, fact);
    const scopes: Scope[] = ["payments", "audit", ...(organizationId === undefined ? [] : [organizationScope(store, organizationId)])];
    const outcome = await store.transaction(scopes, async (tx) =>
      (await organizationOf(tx, fact)) === organizationId ? takeOnce(tx, { ...event, fact }, now) : undefined,
    );
    // Undefined: an event that named the purchase of the payment came in between.
    if (outcome) return outcome;
  }
}

async function takeOnce(tx: Transaction, event: PaymentEvent & { fact: PaymentFact }, now: number): Promise<PaymentOutcome> {
  if (await tx.get("paymentEvents", event.id)) return "repeated";
  const outcome = await takeFact(tx, { fact: event.fact, eventId: event.id }, now);
  await tx.insert("paymentEvents", { id: event.id, type: event.type, outcome, receivedAt: now, expiresAt: now + EVENT_MS });
  return outcome;
}

async function takeFact(
  tx: Transaction,
  { fact, eventId }: { fact: PaymentFact; eventId: string },
  now: number,
): Promise<PaymentEventRow["outcome"]> {
  const refuse = async (reason: string, target: string) => {
    await writeAudit(tx, { actorKind: "system", action: "payment.mismatch", target, requestId: eventId, details: { reason } }, now);
    return "refused" as const;
  };
  if ("currency" in fact && fact.currency !== CURRENCY) {
    if (!(await concernsUs(tx, fact))) return "ignored";
    return refuse(`the currency is ${fact.currency}`, "purchaseId" in fact ? fact.purchaseId : fact.paymentId);
  }
  switch (fact.kind) {
    case "paid": {
      const purchase = await cardPurchase(tx, fact.purchaseId);
      if (!purchase) return "ignored";
      const reason = mismatch(purchase, fact);
      if (reason) return refuse(reason, purchase.id);
      await takePaid(tx, { purchase, fact }, now);
      return "applied";
    }
    case "given-up": {
      const purchase = await cardPurchase(tx, fact.purchaseId);
      if (purchase?.status !== "pending" || purchase.reference !== fact.checkoutId) return "ignored";
      await tx.put("purchases", closed(purchase, "failed"));
      return "applied";
    }
    case "refunded":
      return changePayment(tx, fact.paymentId, (payment) => withRefund(payment, fact.total), now);
    case "disputed": {
      const { disputeId: id, amount, state } = fact;
      return changePayment(tx, fact.paymentId, (payment) => withDispute(payment, { id, amount, state }), now);
    }
  }
}

/** The organization whose purchase an event is about, as far as it is known. */
async function organizationOf(reader: Reader, fact: PaymentFact): Promise<string | undefined> {
  const purchaseId = "purchaseId" in fact ? fact.purchaseId : (await reader.get("payments", fact.paymentId))?.purchaseId;
  return purchaseId === undefined ? undefined : (await reader.get("purchases", purchaseId))?.organizationId;
}

/** A payment in another currency without a purchase of ours belongs to another business on the same Stripe account. */
async function concernsUs(tx: Transaction, fact: Exclude<PaymentFact, { kind: "given-up" }>): Promise<boolean> {
  if (fact.kind === "paid") return (await cardPurchase(tx, fact.purchaseId)) !== undefined;
  return (await tx.get("payments", fact.paymentId))?.purchaseId !== undefined;
}

async function cardPurchase(tx: Transaction, id: string): Promise<Purchase | undefined> {
  const purchase = await tx.get("purchases", id);
  return purchase?.method === "card" ? purchase : undefined;
}

function mismatch(purchase: Purchase, fact: Extract<PaymentFact, { kind: "paid" }>): string | undefined {
  if (fact.checkoutId !== purchase.reference) return `the checkout is ${fact.checkoutId}, not ${purchase.reference}`;
  if (fact.amount !== purchase.amount) return `${fact.amount} nano-USD were paid, not ${purchase.amount}`;
  const known = purchase.paymentId ?? fact.paymentId;
  return known === fact.paymentId ? undefined : `the payment is ${fact.paymentId}, not ${known}`;
}

async function takePaid(
  tx: Transaction,
  { purchase, fact }: { purchase: Purchase; fact: Extract<PaymentFact, { kind: "paid" }> },
  now: number,
): Promise<void> {
  const paid = purchase.completedAt === undefined ? await credit(tx, purchase, now) : purchase;
  const { expiresAt: _, ...payment } = (await tx.get("payments", fact.paymentId)) ?? newPayment(fact.paymentId);
  await bringUpToDate(tx, { purchase: { ...paid, paymentId: payment.id }, payment: { ...payment, purchaseId: purchase.id } }, now);
}

async function credit(tx: Transaction, purchase: Purchase, now: number): Promise<Purchase> {
  const { organizationId, amount, id } = purchase;
  await post(
    tx,
    { type: "purchase", organizationId, from: "purchases", to: organizationAccount(organizationId), amount, reference: id },
    now,
  );
  await notifyPurchase(tx, purchase, now);
  await writeAudit(
    tx,
    { actorKind: "system", action: "credits.purchase", target: id, organizationId, requestId: id, details: { amount, method: "card" } },
    now,
  );
  return { ...closed(purchase, "completed"), completedAt: now };
}

/** Notifies of a completed purchase, for every payment method. */
export async function notifyPurchase(tx: Transaction, { organizationId, id, amount, method }: Purchase, now: number): Promise<void> {
  const data = { purchase: { id, amount, amountUsd: toUsdString(amount), method } };
  await notify(tx, { organizationId, type: "purchase.completed", data }, now);
}

/** Sets the status and removes the checkout address, which no longer works. */
function closed({ checkoutUrl: _, ...purchase }: Purchase, status: Purchase["status"]): Purchase {
  return { ...purchase, status };
}

async function changePayment(tx: Transaction, paymentId: string, change: (payment: Payment) => Payment, now: number): Promise<"applied"> {
  const known = await tx.get("payments", paymentId);
  const payment = change(known ?? newPayment(paymentId));
  const purchase = payment.purchaseId === undefined ? undefined : await tx.get("purchases", payment.purchaseId);
  if (purchase) await bringUpToDate(tx, { purchase, payment }, now);
  else await tx.put("payments", { ...payment, expiresAt: now + STRAY_MS });
  return "applied";
}

async function bringUpToDate(tx: Transaction, { purchase, payment }: { purchase: Purchase; payment: Payment }, now: number): Promise<void> {
  const posted = await postReturns(tx, { purchase, payment }, now);
  await tx.put("payments", posted);
  await tx.put("purchases", { ...purchase, status: paidStatus(purchase, posted) });
}
