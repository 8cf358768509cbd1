import { slotOf } from "../../common/slots.ts";
import { accountInSlot, organizationAccount, postTransfer } from "../domain/ledger.ts";
import type { OutboxRow } from "../domain/ledger-records.ts";
import { outReference, TRANSIT } from "../domain/transit.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { post, readLedger, writeLedger } from "./ledger.ts";

/** A payment from an account that one organization has funded to another organization. */
export interface Payout extends Omit<OutboxRow, "id" | "createdAt"> {
  /** The account that is debited. It is in the slot of `fromOrganizationId`. */
  readonly from: string;
  readonly reference: string;
}

/**
 * Pays another organization: in one step if both are in one slot. Otherwise the amount leaves the paying organization's slot for transit,
 * with an outbox row in the same transaction, and the owner of the other slot takes it in (`takeIn`).
 */
export async function payOut(tx: Transaction, payout: Payout, now: number): Promise<void> {
  const { type, fromOrganizationId, toOrganizationId, from, amount, reference } = payout;
  if (slotOf(fromOrganizationId, tx.slots) === slotOf(toOrganizationId, tx.slots)) {
    const to = organizationAccount(toOrganizationId);
    await post(tx, { type, organizationId: toOrganizationId, from, to, amount, reference }, now);
    return;
  }
  await sendOut(tx, payout, now);
  await tx.insert("outbox", { id: reference, type, fromOrganizationId, toOrganizationId, amount, createdAt: now });
}

/**
 * Two entries of the paying organization: back from the debited account, out to transit. Every entry has an organization on one side, so that
 * its statement explains all of them; its balance is the same after both, so no team is blocked or notified.
 */
async function sendOut(tx: Transaction, { type, fromOrganizationId, from, amount, reference }: Payout, now: number): Promise<void> {
  const slot = slotOf(fromOrganizationId, tx.slots);
  const account = organizationAccount(fromOrganizationId);
  const transit = accountInSlot(TRANSIT, { slot, slots: tx.slots });
  const ledger = await readLedger(tx, { slots: [slot], accountIds: [from, account, transit] });
  const own = { type, organizationId: fromOrganizationId, amount };
  await tx.insert("ledger", postTransfer(ledger, { ...own, from, to: account, reference: `${reference}:back` }, now));
  await tx.insert("ledger", postTransfer(ledger, { ...own, from: account, to: transit, reference: outReference(reference) }, now));
  await writeLedger(tx, ledger);
}

/** Posts what an outbox row says to the receiving organization, once by its reference, in a transaction of that organization's slot. */
export async function takeIn(tx: Transaction, row: OutboxRow, now: number): Promise<void> {
  if (await isTakenIn(tx, row)) return;
  // The row only asks for it: what pays is the entry that the paying slot's chain has.
  const out = await tx.find("ledger", "byReference", [outReference(row.id)]);
  if (out?.amount !== row.amount || out.organizationId !== row.fromOrganizationId) {
    throw new Error(`the outbox row ${row.id} has no entry of its amount; verify the ledger`);
  }
  const { type, toOrganizationId: organizationId, amount, id: reference } = row;
  await post(tx, { type, organizationId, from: TRANSIT, to: organizationAccount(organizationId), amount, reference }, now);
}

export async function isTakenIn(reader: Reader, { id }: OutboxRow): Promise<boolean> {
  return (await reader.find("ledger", "byReference", [id])) !== undefined;
}
