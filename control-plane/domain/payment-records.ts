/** The state of a card payment, independent of the order of its events. Every field changes in one direction only. */
export interface Payment {
  /** The payment provider's id. */
  id: string;
  /** Absent: an event of the payment arrived before the event that names its purchase. */
  purchaseId?: string;
  /** Everything refunded so far, as the provider reports it and as the ledger has it. */
  refunded: bigint;
  refundedInLedger: bigint;
  disputes: readonly PaymentDispute[];
  /** Set while it has no purchase: it may be an unrelated payment on the same Stripe account. */
  expiresAt?: number;
}

/** A dispute (chargeback) of a payment. */
export interface PaymentDispute {
  id: string;
  amount: bigint;
  /** While open, and once lost, the money is with the customer. */
  state: DisputeState;
  /** The ledger has posted the return of its amount. */
  isTaken: boolean;
}

/** The outcome of a dispute, seen from the platform. */
export type DisputeState = "open" | "won" | "lost";

/** A processed event of the payment provider. The same event again changes nothing. */
export interface PaymentEventRow {
  id: string;
  type: string;
  outcome: "applied" | "ignored" | "refused";
  receivedAt: number;
  expiresAt: number;
}
