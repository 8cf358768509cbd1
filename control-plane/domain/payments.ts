import type { DisputeState, Payment, PaymentDispute } from "./payment-records.ts";
import type { Purchase } from "./records.ts";

/** What a payment provider tells, in our words. Amounts in nano-USD; currency in lower case. */
export type PaymentFact =
  | { kind: "paid"; purchaseId: string; checkoutId: string; paymentId: string; amount: bigint; currency: string }
  /** Nobody will pay any more. */
  | { kind: "given-up"; purchaseId: string; checkoutId: string }
  /** `total` is everything given back of the payment so far. */
  | { kind: "refunded"; paymentId: string; total: bigint; currency: string }
  | { kind: "disputed"; paymentId: string; disputeId: string; amount: bigint; currency: string; state: DisputeState };

export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  /** Absent: nothing that concerns credits. */
  readonly fact: PaymentFact | undefined;
}

export const CURRENCY = "usd";
/** Card payments are in whole cents; this many nano-USD are one. */
export const NANO_PER_CENT = 10_000_000n;
/** The provider's own bounds of one payment. */
export const CARD_NANO_MIN = 50n * NANO_PER_CENT;
export const CARD_NANO_MAX = 99_999_999n * NANO_PER_CENT;

export function newPayment(id: string): Payment {
  return { id, refunded: 0n, refundedInLedger: 0n, disputes: [] };
}

/** The payment after a refund was told of; sums only grow, so an older one that comes late changes nothing. */
export function withRefund(payment: Payment, total: bigint): Payment {
  return total > payment.refunded ? { ...payment, refunded: total } : payment;
}

/** The payment after a dispute was told of. What was decided stays decided, whatever is told after it. */
export function withDispute(payment: Payment, told: Pick<PaymentDispute, "id" | "amount" | "state">): Payment {
  const known = payment.disputes.find(({ id }) => id === told.id);
  if (known && (known.state !== "open" || told.state === "open")) return payment;
  const dispute = { ...told, isTaken: known?.isTaken ?? false };
  return { ...payment, disputes: [...payment.disputes.filter(({ id }) => id !== told.id), dispute] };
}

/** What is with the customer for good. */
export function returnedOf(payment: Payment): bigint {
  const lost = payment.disputes.filter(({ state }) => state === "lost");
  return lost.reduce((sum, { amount }) => sum + amount, payment.refunded);
}

/** How a paid purchase stands. */
export function paidStatus(purchase: Pick<Purchase, "amount">, payment: Payment): Purchase["status"] {
  return returnedOf(payment) >= purchase.amount ? "refunded" : "completed";
}
