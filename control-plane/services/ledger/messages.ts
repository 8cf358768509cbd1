import type { LedgerEntry as EntryMessage, Purchase as PurchaseMessage } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import { signedAmount } from "../../domain/ledger.ts";
import type { LedgerEntry, Purchase } from "../../domain/records.ts";
import { date, optionalDate } from "../messages.ts";

export function purchaseMessage(purchase: Purchase): PurchaseMessage {
  return {
    id: purchase.id,
    organizationId: purchase.organizationId,
    amount: purchase.amount,
    method: purchase.method,
    status: purchase.status,
    checkoutUrl: purchase.checkoutUrl,
    reference: purchase.reference,
    createdBy: BigInt(purchase.createdBy),
    createdAt: date(purchase.createdAt),
    completedAt: optionalDate(purchase.completedAt),
  };
}

export function entryMessage(entry: LedgerEntry): EntryMessage {
  return {
    seq: BigInt(entry.id),
    type: entry.type,
    amount: signedAmount(entry),
    balanceAfter: entry.balanceAfter,
    callId: entry.type === "usage" ? entry.reference : undefined,
    purchaseId: purchaseIdOf(entry),
    reference: entry.note,
    createdAt: date(entry.createdAt),
  };
}

/** References of refunds and disputes start with the id of the purchase. */
function purchaseIdOf({ type, reference }: LedgerEntry): string | undefined {
  return type !== "usage" && reference.startsWith("pur_") ? reference.split("/")[0] : undefined;
}
