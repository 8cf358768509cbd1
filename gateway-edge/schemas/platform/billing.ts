import { z } from "zod";
import { amountFields, paging, plainText, readAmount } from "../fields.ts";
import { balanceFields, ledgerEntryRecord, listOf, money, purchaseRecord, quotaRecord } from "../records.ts";

export const balanceAnswer = z.object({
  ...balanceFields,
  currency: z.literal("nano-USD"),
  organizationId: z.string(),
  status: z.string(),
});
export const quotaAnswer = z.object({ quota: quotaRecord });

export const purchaseBody = z
  .object({ ...amountFields("positive"), method: z.enum(["test", "manual", "card"]).optional() })
  .transform((body, context) => ({
    amount: readAmount(body, "positive", (path, message) => context.addIssue({ code: "custom", path: [path], message })),
    // Empty means test credits if the server allows them, otherwise card.
    method: body.method ?? "",
  }));
export const purchaseAnswer = z.object({ purchase: purchaseRecord, ...balanceFields });
export const listPurchasesAnswer = listOf(purchaseRecord);

const receiptRecord = z
  .object({
    purchaseId: z.string(),
    organization: z.object({ id: z.string(), name: z.string() }),
    description: z.string(),
    /** The payment, the part that refunds and lost disputes returned, and the difference. */
    ...money("amount", "returned", "net"),
    currency: z.literal("USD"),
    method: z.string(),
    status: z.string(),
    reference: z.string().nullable(),
    paidAt: z.date(),
    /** All ledger entries of the purchase, oldest first. */
    entries: z.array(ledgerEntryRecord),
  })
  .meta({ id: "PurchaseReceipt" });
export const receiptAnswer = z.object({ receipt: receiptRecord });

export const listEntriesQuery = z.object({
  ...paging,
  type: z.enum(["purchase", "grant", "usage", "reward", "adjustment", "refund"]).optional(),
});
export const listEntriesAnswer = listOf(ledgerEntryRecord);

/** A grant by an admin may be negative, as a correction. */
export const grantBody = z.object({ ...amountFields("signed"), reference: plainText(200).optional() }).transform((body, context) => ({
  amount: readAmount(body, "signed", (path, message) => context.addIssue({ code: "custom", path: [path], message })),
  reference: body.reference,
}));
export const grantAnswer = z.object({ entry: ledgerEntryRecord, ...balanceFields });
