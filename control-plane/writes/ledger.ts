import { slotOf } from "../../common/slots.ts";
import {
  accountInSlot,
  emptyAccount,
  emptyHead,
  type LedgerState,
  organizationAccount,
  postTransfer,
  type Transfer,
} from "../domain/ledger.ts";
import type { LedgerEntry } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { rearmThreshold, watchThresholds } from "./low-balance.ts";
import { followBalances } from "./team-blocks.ts";

/** Reads the heads of slots and the named accounts; accounts without entries start at zero. */
export async function readLedger(
  tx: Transaction,
  touched: { slots: Iterable<number>; accountIds: Iterable<string> },
): Promise<LedgerState> {
  const slots = [...new Set(touched.slots)];
  const ids = [...new Set(touched.accountIds)];
  const heads = await tx.getMany("ledgerHead", slots.map(String));
  const accounts = await tx.getMany("accounts", ids);
  return {
    slots: tx.slots,
    heads: new Map(slots.map((slot, index) => [slot, heads[index] ?? emptyHead(slot)])),
    accounts: new Map(ids.map((id, index) => [id, accounts[index] ?? emptyAccount(id)])),
  };
}

export async function writeLedger(tx: Transaction, ledger: LedgerState): Promise<void> {
  for (const head of ledger.heads.values()) await tx.put("ledgerHead", head);
  for (const account of ledger.accounts.values()) await tx.put("accounts", account);
}

/**
 * Posts one transfer, blocks or unblocks the organization's teams if its balance crossed zero, and notifies if it fell below its
 * threshold. Each reference is posted once: the unique index of the ledger refuses a second time with ALREADY_EXISTS. Accounts of the
 * platform are named without the slot.
 */
export async function post(tx: Transaction, given: Transfer, now: number): Promise<{ entry: LedgerEntry; balance: bigint }> {
  const account = organizationAccount(given.organizationId);
  const { slot, transfer } = inSlot(given, tx.slots);
  const ledger = await readLedger(tx, { slots: [slot], accountIds: [transfer.from, transfer.to, account] });
  const entry = postTransfer(ledger, transfer, now);
  await tx.insert("ledger", entry);
  if (transfer.to === account) await rearmThreshold(tx, ledger, transfer.organizationId);
  else await watchThresholds(tx, ledger, [transfer.organizationId], now);
  await writeLedger(tx, ledger);
  await followBalances(tx, new Map([[transfer.organizationId, entry.balanceAfter]]), now);
  return { entry, balance: entry.balanceAfter };
}

/** The transfer between accounts of the organization's slot. */
function inSlot(transfer: Transfer, slots: number): { slot: number; transfer: Transfer } {
  const slot = slotOf(transfer.organizationId, slots);
  const place = { slot, slots };
  return { slot, transfer: { ...transfer, from: accountInSlot(transfer.from, place), to: accountInSlot(transfer.to, place) } };
}
