import { CLOSED_HEAD, emptyHead } from "../domain/ledger.ts";
import type { Account, LedgerHead } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Store } from "../stores/store.ts";
import { inPages } from "./pages.ts";

const QUIET_ATTEMPTS = 3;

/** Heads of all chains and all accounts, of one moment. */
export interface LedgerSnapshot {
  /** The end of the chain from before the ledger was divided into slots, if there was one. */
  readonly closed: LedgerHead | undefined;
  /** Where each slot's chain begins: its number before the first entry, and what that entry's hash covers. */
  readonly begins: readonly LedgerHead[];
  /** The head of each slot; equal to its beginning if it has no entries. */
  readonly heads: readonly LedgerHead[];
  readonly accounts: ReadonlyMap<string, Account>;
}

/** Reads the snapshot: without a lock while nothing is posted, and in a transaction if postings never pause. */
export async function readSnapshot(store: Store, signal: AbortSignal): Promise<LedgerSnapshot> {
  for (let attempt = 0; attempt < QUIET_ATTEMPTS; attempt++) {
    const before = await readHeads(store, store.slots);
    const accounts = await readAccounts(store, signal);
    const after = await readHeads(store, store.slots);
    if (after.heads.every(({ seq }, slot) => seq === before.heads[slot]?.seq)) return { ...after, accounts };
  }
  return store.transaction([], async (tx) => ({ ...(await readHeads(tx, store.slots)), accounts: await readAccounts(tx, signal) }));
}

/** The largest number of an entry. */
export function lastSeqOf({ closed, begins, heads }: LedgerSnapshot): number {
  const withEntries = heads.filter(({ seq }, slot) => seq !== begins[slot]?.seq);
  return Math.max(closed?.seq ?? 0, ...withEntries.map(({ seq }) => seq));
}

async function readHeads(reader: Reader, slots: number): Promise<Omit<LedgerSnapshot, "accounts">> {
  const stored = new Map((await collect(reader.scan("ledgerHead"))).map((head) => [head.id, head]));
  const closed = stored.get(CLOSED_HEAD);
  const begins = Array.from({ length: slots }, (_, slot) => emptyHead(slot, closed));
  return { closed, begins, heads: begins.map((begin) => stored.get(begin.id) ?? begin) };
}

async function readAccounts(reader: Reader, signal: AbortSignal): Promise<Map<string, Account>> {
  const accounts = new Map<string, Account>();
  for await (const page of inPages(reader, "accounts", { signal })) for (const account of page) accounts.set(account.id, account);
  return accounts;
}
