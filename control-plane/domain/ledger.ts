import { hash } from "node:crypto";
import type { Account, EntryType, LedgerEntry, LedgerHead } from "./records.ts";

/** A posting: an amount above zero from one account to another, on behalf of one organization, once per reference. */
export interface Transfer {
  type: EntryType;
  organizationId: string;
  from: string;
  to: string;
  amount: bigint;
  reference: string;
  note?: string;
}

/** The head of a ledger without entries. */
export const EMPTY_HEAD: LedgerHead = { id: "head", seq: 0, hash: "0".repeat(64) };

export const organizationAccount = (organizationId: string): string => `org:${organizationId}`;

export function emptyAccount(id: string): Account {
  return { id, balance: 0n, seq: 0, updatedAt: 0, purchased: 0n, granted: 0n, rewarded: 0n, used: 0n };
}

/** The head and the touched accounts of the ledger, in memory while a transaction posts to them. */
export interface LedgerState {
  head: LedgerHead;
  accounts: Map<string, Account>;
}

/**
 * Posts one transfer: both accounts change, the sum over all accounts stays the same, and the entry is chained to the one before it.
 * Changes `ledger`; the caller writes it in the transaction that read it.
 */
export function postTransfer(ledger: LedgerState, transfer: Transfer, now: number): LedgerEntry {
  if (transfer.amount <= 0n) throw new Error(`the amount of a transfer must be above zero, not ${transfer.amount}`);
  if (transfer.from === transfer.to) throw new Error("a transfer needs two accounts");
  const seq = ledger.head.seq + 1;
  const organization = applyTransfer(ledger.accounts, transfer, { seq, now });
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
  const chained = entryHash(ledger.head.hash, entry);
  ledger.head = { id: "head", seq, hash: chained };
  return { ...entry, hash: chained };
}

/** Moves the amount between the two accounts, which must be present. Returns the organization's account after it. */
export function applyTransfer(
  accounts: Map<string, Account>,
  transfer: Pick<Transfer, "type" | "organizationId" | "from" | "to" | "amount">,
  at: { seq: number; now: number },
): Account {
  move(accounts, transfer.from, -transfer.amount, at);
  move(accounts, transfer.to, transfer.amount, at);
  // A new object, from `move` or copied here, so that the account of the caller does not change in place.
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

/** The amount from the organization's side: positive for credits that came in, negative for credits that went out. */
export function signedAmount(entry: LedgerEntry): bigint {
  return entry.to === organizationAccount(entry.organizationId) ? entry.amount : -entry.amount;
}

function move(accounts: Map<string, Account>, id: string, amount: bigint, at: { seq: number; now: number }): void {
  const account = requireAccount(accounts, id);
  accounts.set(id, { ...account, balance: account.balance + amount, seq: at.seq, updatedAt: at.now });
}

function requireAccount(accounts: ReadonlyMap<string, Account>, id: string): Account {
  const account = accounts.get(id);
  if (!account) throw new Error(`the ledger state has no account ${id}`);
  return account;
}

// Totals by type, for the quota page; the balance does not depend on them.
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
