import { hash } from "node:crypto";
import type { Account, EntryType, LedgerEntry, LedgerHead } from "./records.ts";

/** What is to move: always above zero, from one account to another, on behalf of one organisation, once for its reference. */
export interface Transfer {
  type: EntryType;
  organizationId: string;
  from: string;
  to: string;
  amount: bigint;
  reference: string;
  note?: string;
}

export const EMPTY_HEAD: LedgerHead = { id: "head", seq: 0, hash: "0".repeat(64) };

export const organizationAccount = (organizationId: string): string => `org:${organizationId}`;

export function emptyAccount(id: string): Account {
  return { id, balance: 0n, seq: 0, updatedAt: 0, purchased: 0n, granted: 0n, rewarded: 0n, used: 0n };
}

/** The ledger's ends in memory while a transaction posts to them: the head, and the accounts it touches. */
export interface Books {
  head: LedgerHead;
  accounts: Map<string, Account>;
}

/**
 * Posts one transfer: both accounts move, the sum over all accounts stays what it was, the entry is chained to the one before
 * it. Changes `books`; the caller writes them in the transaction that read them.
 */
export function postTransfer(books: Books, transfer: Transfer, now: number): LedgerEntry {
  if (transfer.amount <= 0n) throw new Error(`a transfer must move more than nothing, not ${transfer.amount}`);
  if (transfer.from === transfer.to) throw new Error("a transfer needs two accounts");
  const seq = books.head.seq + 1;
  const organization = applyTransfer(books.accounts, transfer, { seq, now });
  const entry: Omit<LedgerEntry, "hash"> = {
    id: seq,
    reference: transfer.reference,
    type: transfer.type,
    organizationId: transfer.organizationId,
    from: transfer.from,
    to: transfer.to,
    amount: transfer.amount,
    balanceAfter: organization.balance,
    ...(transfer.note === undefined ? {} : { note: transfer.note }),
    createdAt: now,
  };
  const chained = entryHash(books.head.hash, entry);
  books.head = { id: "head", seq, hash: chained };
  return { ...entry, hash: chained };
}

/** Moves the amount between the two accounts, which must be there. Gives the organisation's, as it is then. */
export function applyTransfer(
  accounts: Map<string, Account>,
  transfer: Pick<Transfer, "type" | "organizationId" | "from" | "to" | "amount">,
  at: { seq: number; now: number },
): Account {
  move(accounts, transfer.from, -transfer.amount, at);
  move(accounts, transfer.to, transfer.amount, at);
  // Made by the moves just now, or copied here: nobody else sees it change.
  const id = organizationAccount(transfer.organizationId);
  const isMoved = id === transfer.from || id === transfer.to;
  const organization = isMoved ? requireAccount(accounts, id) : { ...requireAccount(accounts, id) };
  tally(organization, transfer);
  if (!isMoved) accounts.set(id, organization);
  return organization;
}

/** The chain: SHA-256 over the previous hash and every field of the entry, in this order. */
export function entryHash(previous: string, entry: Omit<LedgerEntry, "hash">): string {
  const fields = [
    previous,
    entry.id,
    entry.reference,
    entry.type,
    entry.organizationId,
    entry.from,
    entry.to,
    entry.amount.toString(),
    entry.balanceAfter.toString(),
    entry.note ?? null,
    entry.createdAt,
  ];
  return hash("sha256", JSON.stringify(fields), "hex");
}

/** The amount as the organisation sees it: what came in above zero, what went out below. */
export function signedAmount(entry: LedgerEntry): bigint {
  return entry.to === organizationAccount(entry.organizationId) ? entry.amount : -entry.amount;
}

function move(accounts: Map<string, Account>, id: string, amount: bigint, at: { seq: number; now: number }): void {
  const account = requireAccount(accounts, id);
  accounts.set(id, { ...account, balance: account.balance + amount, seq: at.seq, updatedAt: at.now });
}

function requireAccount(accounts: ReadonlyMap<string, Account>, id: string): Account {
  const account = accounts.get(id);
  if (!account) throw new Error(`the books do not hold account ${id}`);
  return account;
}

// Totals by kind, for the quota page; the balance itself never depends on them.
function tally(account: Account, transfer: Pick<Transfer, "type" | "to" | "amount">): void {
  const signed = transfer.to === account.id ? transfer.amount : -transfer.amount;
  switch (transfer.type) {
    case "purchase":
    case "refund":
      account.purchased += signed;
      return;
    case "grant":
    case "adjustment":
      account.granted += signed;
      return;
    case "reward":
      account.rewarded += signed;
      return;
    case "usage":
      account.used -= signed;
      return;
  }
}
