import { EMPTY_HEAD, emptyAccount, type LedgerState, organizationAccount, postTransfer, type Transfer } from "../domain/ledger.ts";
import type { LedgerEntry } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { rearmThreshold, watchThresholds } from "./low-balance.ts";
import { followBalances } from "./team-blocks.ts";

/** Reads the head and the named accounts; accounts without entries start at zero. */
export async function readLedger(tx: Transaction, accountIds: Iterable<string>): Promise<LedgerState> {
  const ids = [...new Set(accountIds)];
  const [head, accounts] = [await tx.get("ledgerHead", "head"), await tx.getMany("accounts", ids)];
  return {
    head: head ?? EMPTY_HEAD,
    accounts: new Map(ids.map((id, index) => [id, accounts[index] ?? emptyAccount(id)])),
  };
}

export async function writeLedger(tx: Transaction, ledger: LedgerState): Promise<void> {
  await tx.put("ledgerHead", ledger.head);
  for (const account of ledger.accounts.values()) await tx.put("accounts", account);
}

/**
 * Posts one transfer, blocks or unblocks the organization's teams if its balance crossed zero, and notifies if it fell below its
 * threshold. Each reference is posted once: the unique index of the ledger refuses a second time with ALREADY_EXISTS.
 */
export async function post(tx: Transaction, transfer: Transfer, now: number): Promise<{ entry: LedgerEntry; balance: bigint }> {
  const account = organizationAccount(transfer.organizationId);
  const ledger = await readLedger(tx, [transfer.from, transfer.to, account]);
  const entry = postTransfer(ledger, transfer, now);
  await tx.insert("ledger", entry);
  if (transfer.to === account) await rearmThreshold(tx, ledger, transfer.organizationId);
  else await watchThresholds(tx, ledger, [transfer.organizationId], now);
  await writeLedger(tx, ledger);
  await followBalances(tx, new Map([[transfer.organizationId, entry.balanceAfter]]), now);
  return { entry, balance: entry.balanceAfter };
}
