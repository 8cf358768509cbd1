import { emptyAccount, NO_HASH } from "../domain/ledger.ts";
import type { Store } from "../stores/store.ts";
import { ArchivedCalls } from "./archived-calls.ts";
import type { LedgerFault } from "./ledger-fault.ts";
import { type LedgerSnapshot, lastSeqOf, readSnapshot } from "./ledger-snapshot.ts";
import { type Chain, type ChainCheck, type Rebuilt, walkChain } from "./walk-chain.ts";

/** How many chains are read at once: enough to be busy while the database answers, few enough to leave it to others. */
const CHAINS_AT_ONCE = 8;

/** Outcome of the check of the ledger's entries. */
export interface EntriesCheck {
  readonly snapshot: LedgerSnapshot;
  /** The largest number of an entry. */
  readonly lastSeq: number;
  readonly accounts: number;
  /** Sum over all stored accounts, at one moment. */
  readonly sum: bigint;
  readonly entries: number;
  readonly fault: LedgerFault | undefined;
}

/**
 * Checks every chain of the ledger from its first entry to its head at the start (walk-chain.ts), and that accounts rebuilt from the
 * entries equal the stored accounts. Memory grows with the number of accounts, not of entries.
 */
export async function checkEntries(store: Store, signal: AbortSignal): Promise<EntriesCheck> {
  const snapshot = await readSnapshot(store, signal);
  const stored = [...snapshot.accounts.values()];
  const accounts: Rebuilt = new Map();
  const archived = await ArchivedCalls.begin(store);
  // Accounts go on from where the closed chain left them, so it comes first.
  const checks: ChainCheck[] = [];
  for (const chains of [closedChain(snapshot), slotChains(snapshot)]) {
    if (checks.every(({ fault }) => !fault))
      checks.push(...(await walkAll(chains, (chain) => walkChain(store, { chain, accounts, archived, signal }))));
  }
  return {
    snapshot,
    lastSeq: lastSeqOf(snapshot),
    accounts: stored.length,
    sum: stored.reduce((total, { balance }) => total + balance, 0n),
    entries: checks.reduce((total, { entries }) => total + entries, 0),
    fault: firstOf(checks) ?? compareAccounts(accounts, snapshot) ?? (await archived.end()),
  };
}

function closedChain({ closed }: LedgerSnapshot): Chain[] {
  return closed ? [{ begin: { seq: 0, hash: NO_HASH }, head: closed, step: 1 }] : [];
}

function slotChains({ begins, heads }: LedgerSnapshot): Chain[] {
  return begins.flatMap((begin, slot) => {
    const head = heads[slot];
    return head ? [{ begin, head, step: begins.length, slot }] : [];
  });
}

async function walkAll(chains: readonly Chain[], walk: (chain: Chain) => Promise<ChainCheck>): Promise<ChainCheck[]> {
  const waiting = chains.values();
  const checks: ChainCheck[] = [];
  const work = async () => {
    for (const chain of waiting) checks.push(await walk(chain));
  };
  await Promise.all(Array.from({ length: CHAINS_AT_ONCE }, work));
  return checks;
}

/** The fault of the lowest number, so that the answer does not depend on which chain was read first. */
function firstOf(checks: readonly ChainCheck[]): LedgerFault | undefined {
  return checks.flatMap(({ fault }) => (fault ? [fault] : [])).sort((left, right) => left.seq - right.seq)[0];
}

const ACCOUNT_FIELDS = ["balance", "seq", "purchased", "granted", "rewarded", "used"] as const;

function compareAccounts(rebuilt: Rebuilt, { accounts }: LedgerSnapshot): LedgerFault | undefined {
  for (const id of new Set([...accounts.keys(), ...rebuilt.keys()])) {
    const [stored, expected] = [accounts.get(id), rebuilt.get(id) ?? emptyAccount(id)];
    const bad = (reason: string): LedgerFault => ({ kind: "balance", seq: expected.seq, record: `account ${id}`, reason });
    if (!stored) return bad(`account ${id} is missing, its entries say ${expected.balance}`);
    const field = ACCOUNT_FIELDS.find((name) => stored[name] !== expected[name]);
    if (field === "balance") return bad(`account ${id} holds ${stored.balance}, its entries say ${expected.balance}`);
    if (field) return bad(`account ${id} says ${field} ${stored[field]}, its entries say ${expected[field]}`);
  }
  return undefined;
}
