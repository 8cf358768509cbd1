import { setImmediate as nextTurn } from "node:timers/promises";
import type { VerifyLedgerResponse } from "../../proto/gen/tributary/ledger/v1/ledger.ts";
import { EMPTY_HEAD, entryHash, organizationAccount } from "../domain/ledger.ts";
import type { LedgerEntry } from "../domain/records.ts";
import type { Store } from "../stores/store.ts";

const TURN_EVERY = 500;

/**
 * Re-reads the whole ledger: no gap in the sequence, an unbroken hash chain, every balance what its entries say, all accounts
 * together zero. Entries written while it runs are left out: it checks up to the head it found at the start.
 */
export async function checkLedger(store: Store, signal: AbortSignal): Promise<VerifyLedgerResponse> {
  // Head and accounts are read in one transaction, so that they are of one moment.
  const { head, accounts } = await store.transaction(async (tx) => {
    const accounts = new Map<string, bigint>();
    for await (const account of tx.scan("accounts")) accounts.set(account.id, account.balance);
    return { head: (await tx.get("ledgerHead", "head")) ?? EMPTY_HEAD, accounts };
  });
  const check = { seq: 0, hash: EMPTY_HEAD.hash, balances: new Map<string, bigint>() };
  let firstBad: { seq: bigint; reason: string } | undefined;
  for await (const entry of store.scan("ledger", { before: head.seq + 1 })) {
    const reason = follow(check, entry);
    if (reason) {
      firstBad = { seq: BigInt(entry.id), reason };
      break;
    }
    if (entry.id % TURN_EVERY === 0) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }
  firstBad ??= compareEnds(check, head, accounts);
  const sum = [...accounts.values()].reduce((total, balance) => total + balance, 0n);
  return {
    ok: firstBad === undefined && sum === 0n,
    entries: BigInt(check.seq),
    sum,
    lastSeq: BigInt(head.seq),
    hash: head.hash,
    firstBad,
  };
}

interface Check {
  seq: number;
  hash: string;
  balances: Map<string, bigint>;
}

function follow(check: Check, entry: LedgerEntry): string | undefined {
  if (entry.id !== check.seq + 1) return `entry ${check.seq + 1} is missing`;
  if (entry.amount <= 0n) return "the amount is not above zero";
  const { hash, ...fields } = entry;
  if (entryHash(check.hash, fields) !== hash) return "the hash does not follow from the entry before";
  check.seq = entry.id;
  check.hash = hash;
  check.balances.set(entry.from, (check.balances.get(entry.from) ?? 0n) - entry.amount);
  check.balances.set(entry.to, (check.balances.get(entry.to) ?? 0n) + entry.amount);
  const balance = check.balances.get(organizationAccount(entry.organizationId)) ?? 0n;
  return balance === entry.balanceAfter ? undefined : `the balance after it is ${balance}, not ${entry.balanceAfter}`;
}

function compareEnds(check: Check, head: { seq: number; hash: string }, accounts: ReadonlyMap<string, bigint>) {
  const bad = (reason: string) => ({ seq: BigInt(check.seq), reason });
  if (check.seq !== head.seq) return bad(`the ledger ends at ${check.seq}, its head says ${head.seq}`);
  if (check.hash !== head.hash) return bad("the head's hash is not the last entry's");
  for (const [id, balance] of accounts) {
    const expected = check.balances.get(id) ?? 0n;
    if (balance !== expected) return bad(`account ${id} holds ${balance}, its entries say ${expected}`);
  }
  return undefined;
}
