import type { PaymentEvent } from "../domain/payments.ts";

export interface CheckoutOrder {
  purchaseId: string;
  organizationName: string;
  email: string;
  /** Nano-USD, whole cents. */
  amount: bigint;
}

/** Takes money by card. The provider's page does it; what came of it is told by events, later. */
export interface Payments {
  /** A page where the order can be paid. The same order again is the same page. */
  createCheckout(order: CheckoutOrder): Promise<{ id: string; url: string }>;
  /** What the provider tells, once its signature is checked; throws VALIDATION_ERROR when it is not the provider who tells it. */
  readEvent(payload: Uint8Array, signature: string): PaymentEvent;
}
