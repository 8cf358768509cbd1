import { hash } from "node:crypto";
import { slotOf } from "../../common/slots.ts";
import { accountInSlot, type LedgerState, organizationAccount, requireAccount, requireHead } from "./ledger.ts";
import type { Account, LedgerEntry, LedgerHead } from "./records.ts";

/** What a call costs its organization. */
export interface Charge {
  organizationId: string;
  amount: bigint;
  /** The call. */
  reference: string;
}

/**
 * Posts charges as `postTransfer` would one by one, from organizations to the revenue of their slots. Accounts and heads are copied once and
 * not for each charge, because a batch has hundreds.
 */
export function postCharges(ledger: LedgerState, charges: readonly Charge[], now: number): LedgerEntry[] {
  const books = new Map<string, ChargeBook>();
  const heads = new Map<number, LedgerHead>();
  const accounts = new Map<string, Account>();
  const owned = (id: string) => entryOf(accounts, id, () => ({ ...requireAccount(ledger.accounts, id) }));
  const entries = charges.map((charge) => {
    const book = entryOf(books, charge.organizationId, () => {
      const slot = slotOf(charge.organizationId, ledger.slots);
      const head = entryOf(heads, slot, () => ({ ...requireHead(ledger, slot) }));
      const [from, to] = [organizationAccount(charge.organizationId), accountInSlot("revenue", { slot, slots: ledger.slots })];
      return { head, from: owned(from), to: owned(to), names: JSON.stringify(["usage", charge.organizationId, from, to]).slice(1, -1) };
    });
    return postCharge(book, charge, { slots: ledger.slots, now });
  });
  for (const [slot, head] of heads) ledger.heads.set(slot, head);
  for (const [id, account] of accounts) ledger.accounts.set(id, account);
  return entries;
}

/** What charges of one organization change in place, and what their entries have in common as the chain covers it. */
interface ChargeBook {
  readonly head: LedgerHead;
  readonly from: Account;
  readonly to: Account;
  readonly names: string;
}

function postCharge(book: ChargeBook, { organizationId, amount, reference }: Charge, at: { slots: number; now: number }): LedgerEntry {
  if (amount <= 0n) throw new Error(`the amount of a charge must be above zero, not ${amount}`);
  const { head, from, to } = book;
  const id = head.seq + at.slots;
  from.balance -= amount;
  from.used += amount;
  to.balance += amount;
  from.seq = to.seq = head.seq = id;
  from.updatedAt = to.updatedAt = at.now;
  const balanceAfter = from.balance;
  // The text of entryHash, whose constant part is written once: to write it costs as much as the hash.
  const text = `["${head.hash}",${id},${JSON.stringify(reference)},${book.names},"${amount}","${balanceAfter}",null,${at.now}]`;
  head.hash = hash("sha256", text, "hex");
  return {
    id,
    reference,
    type: "usage",
    organizationId,
    from: from.id,
    to: to.id,
    amount,
    balanceAfter,
    createdAt: at.now,
    hash: head.hash,
  };
}

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
