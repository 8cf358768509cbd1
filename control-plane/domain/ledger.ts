import { hash } from "node:crypto";
import { slotOf } from "../../common/slots.ts";
import type { Account, EntryType, LedgerEntry, LedgerHead } from "./records.ts";
import { TRANSIT } from "./transit.ts";

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

/** What the first entry of a chain follows, in a store that was never divided anew. */
export const NO_HASH = "0".repeat(64);

/** Id of the head of the one chain that a store had before its ledger was divided into slots. It is never written again. */
export const CLOSED_HEAD = "head";

/**
 * The head of a slot's chain without entries. Entries of slot s are numbered base + n * slots + s, so that a number is unique in the whole
 * ledger and rises within a slot. The base, and what the first hash covers, is the last entry of the closed chain.
 */
export function emptyHead(slot: number, closed?: LedgerHead): LedgerHead {
  if (!closed) return { id: String(slot), seq: slot, hash: NO_HASH };
  return { id: String(slot), seq: closed.seq + slot, hash: hash("sha256", JSON.stringify([closed.hash, slot]), "hex") };
}

/** Accounts of the platform that every slot has for itself, so that no two slots write the same record. */
const SYSTEM_ACCOUNTS: ReadonlySet<string> = new Set(["revenue", "purchases", "grants", "rewards", "adjustments", TRANSIT]);

/** The account of a slot, by its name without the slot. A store of one slot has the names alone. */
export function accountInSlot(name: string, { slot, slots }: { slot: number; slots: number }): string {
  return slots > 1 && SYSTEM_ACCOUNTS.has(name) ? `${name}/${slot}` : name;
}

export const organizationAccount = (organizationId: string): string => `org:${organizationId}`;

export function emptyAccount(id: string): Account {
  return { id, balance: 0n, seq: 0, updatedAt: 0, purchased: 0n, granted: 0n, rewarded: 0n, used: 0n };
}

/** Heads of the touched slots and the touched accounts of the ledger, in memory while a transaction posts to them. */
export interface LedgerState {
  /** How many slots the store has. */
  slots: number;
  heads: Map<number, LedgerHead>;
  accounts: Map<string, Account>;
}

/**
 * Posts one transfer: both accounts change, the sum over all accounts stays the same, and the entry is chained to the one before it in
 * the organization's slot.
 * Changes `ledger`; the caller writes it in the transaction that read it.
 */
export function postTransfer(ledger: LedgerState, transfer: Transfer, now: number): LedgerEntry {
  if (transfer.amount <= 0n) throw new Error(`the amount of a transfer must be above zero, not ${transfer.amount}`);
  if (transfer.from === transfer.to) throw new Error("a transfer needs two accounts");
  const slot = slotOf(transfer.organizationId, ledger.slots);
  const head = requireHead(ledger, slot);
  const seq = head.seq + ledger.slots;
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
  const chained = entryHash(head.hash, entry);
  ledger.heads.set(slot, { id: head.id, seq, hash: chained });
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

export function requireHead({ heads }: LedgerState, slot: number): LedgerHead {
  const head = heads.get(slot);
  if (!head) throw new Error(`the ledger state has no head of slot ${slot}`);
  return head;
}

export function requireAccount(accounts: ReadonlyMap<string, Account>, id: string): Account {
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
