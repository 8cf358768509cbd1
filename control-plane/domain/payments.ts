import type { DisputeState, Payment, PaymentDispute } from "./payment-records.ts";
import type { Purchase } from "./records.ts";

/** What an event of the payment provider reports. Amounts are nano-USD; currencies are lower case. */
export type PaymentFact =
  | { kind: "paid"; purchaseId: string; checkoutId: string; paymentId: string; amount: bigint; currency: string }
  /** The checkout expired or the payment failed. */
  | { kind: "given-up"; purchaseId: string; checkoutId: string }
  /** `total` is everything refunded of the payment so far. */
  | { kind: "refunded"; paymentId: string; total: bigint; currency: string }
  | { kind: "disputed"; paymentId: string; disputeId: string; amount: bigint; currency: string; state: DisputeState };

/** An event of the payment provider after its signature was checked. */
export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  /** Absent: the event does not concern credits. */
  readonly fact: PaymentFact | undefined;
}

export const CURRENCY = "usd";
/** Nano-USD per cent; card payments are whole cents. */
export const NANO_PER_CENT = 10_000_000n;
/** The provider's bounds of one payment. */
export const CARD_NANO_MIN = 50n * NANO_PER_CENT;
export const CARD_NANO_MAX = 99_999_999n * NANO_PER_CENT;

export function newPayment(id: string): Payment {
  return { id, refunded: 0n, refundedInLedger: 0n, disputes: [] };
}

/** The payment after a refund event. Totals only grow, so an older event that arrives late changes nothing. */
export function withRefund(payment: Payment, total: bigint): Payment {
  return total > payment.refunded ? { ...payment, refunded: total } : payment;
}

/** The payment after a dispute event. A decided dispute stays decided, whatever event follows. */
export function withDispute(payment: Payment, reported: Pick<PaymentDispute, "id" | "amount" | "state">): Payment {
  const known = payment.disputes.find(({ id }) => id === reported.id);
  if (known && (known.state !== "open" || reported.state === "open")) return payment;
  const dispute = { ...reported, isTaken: known?.isTaken ?? false };
  return { ...payment, disputes: [...payment.disputes.filter(({ id }) => id !== reported.id), dispute] };
}

/** Refunds and lost disputes together. */
export function returnedOf(payment: Payment): bigint {
  const lost = payment.disputes.filter(({ state }) => state === "lost");
  return lost.reduce((sum, { amount }) => sum + amount, payment.refunded);
}

/** The status of a paid purchase. */
export function paidStatus(purchase: Pick<Purchase, "amount">, payment: Payment): Purchase["status"] {
  return returnedOf(payment) >= purchase.amount ? "refunded" : "completed";
}
