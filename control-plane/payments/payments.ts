import type { PaymentEvent } from "../domain/payments.ts";

/** A purchase to be paid by card. */
export interface CheckoutOrder {
  purchaseId: string;
  organizationName: string;
  email: string;
  /** Nano-USD, whole cents. */
  amount: bigint;
}

/** Card payments. The customer pays on the provider's page; the provider reports the outcome later, in events. */
export interface Payments {
  /** Creates the page where the order is paid. The same order returns the same page. */
  createCheckout(order: CheckoutOrder): Promise<{ id: string; url: string }>;
  /** Reads an event after checking its signature. Throws VALIDATION_ERROR if the provider did not sign it. */
  readEvent(payload: Uint8Array, signature: string): PaymentEvent;
}
