/** The account of a slot for amounts on their way between organizations of different slots. */
export const TRANSIT = "transit";

/** The reference of the entry that leaves the paying slot; the entry that arrives has the payment's own reference. */
export const outReference = (reference: string): string => `${reference}:out`;

/** The payment that an entry leaves the paying slot for. */
export function paymentOf(reference: string): string {
  return reference.slice(0, -outReference("").length);
}

/** Whether an account is a transit account of any slot. */
export function isTransit(account: string): boolean {
  return account.startsWith(`${TRANSIT}/`);
}
