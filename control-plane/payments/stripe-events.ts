import type Stripe from "stripe";
import type { DisputeState } from "../domain/payment-records.ts";
import { NANO_PER_CENT, type PaymentFact } from "../domain/payments.ts";

/** The part of a Stripe event that concerns credits; undefined for other events and for payments that this platform did not start. */
export function factOf(event: Stripe.Event): PaymentFact | undefined {
  switch (event.type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded":
      return paidFact(event.data.object);
    case "checkout.session.async_payment_failed":
    case "checkout.session.expired":
      return givenUpFact(event.data.object);
    case "charge.refunded":
      return refundFact(event.data.object);
    case "charge.dispute.created":
    case "charge.dispute.updated":
    case "charge.dispute.funds_withdrawn":
    case "charge.dispute.funds_reinstated":
    case "charge.dispute.closed":
      return disputeFact(event.data.object);
    default:
      return undefined;
  }
}

function paidFact(session: Stripe.Checkout.Session): PaymentFact | undefined {
  const purchaseId = purchaseOf(session);
  // With a slow payment method the session completes before the money arrives; another event reports the payment.
  if (purchaseId === undefined || session.payment_status !== "paid") return undefined;
  return {
    kind: "paid",
    purchaseId,
    checkoutId: session.id,
    paymentId: idOf(session.payment_intent) ?? session.id,
    amount: nanoOf(session.amount_total ?? 0),
    currency: session.currency ?? "",
  };
}

function givenUpFact(session: Stripe.Checkout.Session): PaymentFact | undefined {
  const purchaseId = purchaseOf(session);
  return purchaseId === undefined ? undefined : { kind: "given-up", purchaseId, checkoutId: session.id };
}

function refundFact(charge: Stripe.Charge): PaymentFact | undefined {
  const paymentId = idOf(charge.payment_intent);
  if (paymentId === undefined || charge.amount_refunded <= 0) return undefined;
  return { kind: "refunded", paymentId, total: nanoOf(charge.amount_refunded), currency: charge.currency };
}

function disputeFact(dispute: Stripe.Dispute): PaymentFact | undefined {
  const [paymentId, state] = [idOf(dispute.payment_intent), DISPUTE_STATES[dispute.status]];
  if (paymentId === undefined || state === undefined || dispute.amount <= 0) return undefined;
  return { kind: "disputed", paymentId, disputeId: dispute.id, amount: nanoOf(dispute.amount), currency: dispute.currency, state };
}

/** Dispute warnings are left out: they are questions of the bank and move no money. */
const DISPUTE_STATES: Readonly<Record<string, DisputeState>> = {
  needs_response: "open",
  under_review: "open",
  won: "won",
  prevented: "won",
  lost: "lost",
};

function purchaseOf({ client_reference_id: reference, metadata }: Stripe.Checkout.Session): string | undefined {
  const id = metadata?.["purchase_id"] ?? reference;
  return id?.startsWith("pur_") ? id : undefined;
}

function idOf(reference: string | { id: string } | null): string | undefined {
  return typeof reference === "string" ? reference : reference?.id;
}

function nanoOf(cents: number): bigint {
  return BigInt(cents) * NANO_PER_CENT;
}
