import { organizationAccount, type Transfer } from "../domain/ledger.ts";
import type { Payment, PaymentDispute } from "../domain/payment-records.ts";
import type { Purchase } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { post } from "./ledger.ts";

/** Posts refunds and disputes, and won disputes, that are not in the ledger yet. Returns the payment as the ledger now has it. */
export async function postReturns(
  tx: Transaction,
  { purchase, payment }: { purchase: Purchase; payment: Payment },
  now: number,
): Promise<Payment> {
  const refund = payment.refunded - payment.refundedInLedger;
  if (refund > 0n) {
    // The reference contains the refunded total, so the same refund cannot be posted twice.
    await post(tx, { ...takenBack(purchase), type: "refund", amount: refund, reference: `${purchase.id}/refund/${payment.refunded}` }, now);
  }
  const disputes: PaymentDispute[] = [];
  for (const dispute of payment.disputes) disputes.push(await followDispute(tx, { purchase, dispute }, now));
  return { ...payment, refundedInLedger: payment.refunded, disputes };
}

async function followDispute(
  tx: Transaction,
  { purchase, dispute }: { purchase: Purchase; dispute: PaymentDispute },
  now: number,
): Promise<PaymentDispute> {
  const isTaken = dispute.state !== "won";
  if (isTaken === dispute.isTaken) return dispute;
  const reference = `${purchase.id}/dispute/${dispute.id}`;
  const { organizationId, from, to } = takenBack(purchase, "adjustments");
  const transfer: Transfer = isTaken
    ? { type: "adjustment", organizationId, from, to, amount: dispute.amount, reference, note: `dispute ${dispute.id}` }
    : {
        type: "adjustment",
        organizationId,
        from: to,
        to: from,
        amount: dispute.amount,
        reference: `${reference}/won`,
        note: `dispute ${dispute.id} won`,
      };
  await post(tx, transfer, now);
  return { ...dispute, isTaken };
}

function takenBack({ organizationId }: Purchase, to: "purchases" | "adjustments" = "purchases") {
  return { organizationId, from: organizationAccount(organizationId), to };
}
