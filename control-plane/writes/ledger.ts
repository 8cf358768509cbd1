import { type Books, EMPTY_HEAD, emptyAccount, organizationAccount, postTransfer, type Transfer } from "../domain/ledger.ts";
import type { LedgerEntry } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { rearmThreshold, watchThresholds } from "./low-balance.ts";
import { followBalances } from "./team-blocks.ts";

/** Reads the head and the named accounts; those that never had an entry start at zero. */
export async function openBooks(tx: Transaction, accountIds: Iterable<string>): Promise<Books> {
  const ids = [...new Set(accountIds)];
  const [head, accounts] = [await tx.get("ledgerHead", "head"), await tx.getMany("accounts", ids)];
  return {
    head: head ?? EMPTY_HEAD,
    accounts: new Map(ids.map((id, index) => [id, accounts[index] ?? emptyAccount(id)])),
  };
}

export async function closeBooks(tx: Transaction, books: Books): Promise<void> {
  await tx.put("ledgerHead", books.head);
  for (const account of books.accounts.values()) await tx.put("accounts", account);
}

/**
 * Posts one transfer, blocks or unblocks the organisation's teams when its balance crossed zero, and tells when it fell below its
 * threshold. Once for its reference: a second time it is refused with ALREADY_EXISTS by the ledger's unique index.
 */
export async function post(tx: Transaction, transfer: Transfer, now: number): Promise<{ entry: LedgerEntry; balance: bigint }> {
  const account = organizationAccount(transfer.organizationId);
  const books = await openBooks(tx, [transfer.from, transfer.to, account]);
  const entry = postTransfer(books, transfer, now);
  await tx.insert("ledger", entry);
  if (transfer.to === account) await rearmThreshold(tx, books, transfer.organizationId);
  else await watchThresholds(tx, books, [transfer.organizationId], now);
  await closeBooks(tx, books);
  await followBalances(tx, new Map([[transfer.organizationId, entry.balanceAfter]]), now);
  return { entry, balance: entry.balanceAfter };
}
