/** What is known of a payment by card, whatever the order in which it was told. Every field only ever moves one way. */
export interface Payment {
  /** The provider's own id of it. */
  id: string;
  /** Absent: told of before the purchase it pays for. */
  purchaseId?: string;
  /** Everything given back so far, as the provider says, and as the ledger has it. */
  refunded: bigint;
  refundedInLedger: bigint;
  disputes: readonly PaymentDispute[];
  /** Only while it belongs to no purchase: it may be somebody else's payment on the same account. */
  expiresAt?: number;
}

export interface PaymentDispute {
  id: string;
  amount: bigint;
  /** While it is open, and when it is lost, the money is with the customer. */
  state: DisputeState;
  /** The ledger has taken its amount back. */
  isTaken: boolean;
}

export type DisputeState = "open" | "won" | "lost";

/** An event of the payment provider that was taken in: the same one again changes nothing. */
export interface PaymentEventRow {
  id: string;
  type: string;
  outcome: "applied" | "ignored" | "refused";
  receivedAt: number;
  expiresAt: number;
}
