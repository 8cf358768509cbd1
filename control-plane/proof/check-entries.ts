import { emptyAccount } from "../domain/ledger.ts";
import type { Checkpoint } from "../domain/ledger-records.ts";
import type { Store } from "../stores/store.ts";
import { ArchivedCalls } from "./archived-calls.ts";
import { badCheckpoint, compareCheckpoint } from "./check-checkpoints.ts";
import { hashAccounts } from "./hash-accounts.ts";
import type { LedgerFault } from "./ledger-fault.ts";
import { type LedgerSnapshot, lastSeqOf, readSnapshot } from "./ledger-snapshot.ts";
import { type Stage, stagesOf, stagesSince } from "./stages.ts";
import { type Chain, type ChainCheck, type Rebuilt, rewindChain, walkChain } from "./walk-chain.ts";

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

/** What is checked, and from where. */
export interface EntriesOptions {
  /** Checkpoints to prove, from the first on. */
  readonly checkpoints?: readonly Checkpoint[];
  /** Checks only what was posted since this checkpoint, which is taken as right. */
  readonly since?: Checkpoint | undefined;
  readonly signal: AbortSignal;
}

/**
 * Checks every chain of the ledger from its first entry, or from a checkpoint, to its head at the start (walk-chain.ts), that the ledger was at every
 * checkpoint what the checkpoint says, and that accounts rebuilt from the entries equal the stored accounts. Memory grows with the number of accounts,
 * not of entries.
 */
export async function checkEntries(store: Store, { checkpoints = [], since, signal }: EntriesOptions): Promise<EntriesCheck> {
  const snapshot = await readSnapshot(store, signal);
  const stored = [...snapshot.accounts.values()];
  const archived = await ArchivedCalls.begin(store, { hasAllEntries: since === undefined });
  const begin = since ? await beginAt(store, { since, snapshot, signal }) : beginAtFirst(snapshot, checkpoints);
  const walked = await walkStages(begin, (chain) => walkChain(store, { chain, ...begin, archived, signal }));
  return {
    snapshot,
    lastSeq: lastSeqOf(snapshot),
    accounts: stored.length,
    sum: stored.reduce((total, { balance }) => total + balance, 0n),
    entries: walked.entries,
    fault: walked.fault ?? begin.fault ?? compareAccounts(begin.accounts, snapshot) ?? (await archived.end()),
  };
}

/** Where a check begins: its stages, the accounts and the number of entries before them. */
interface Begin {
  readonly stages: readonly Stage[];
  readonly accounts: Rebuilt;
  readonly entries: number;
  readonly comparesBalances: boolean;
  /** Reported if no entry is the cause. */
  readonly fault: LedgerFault | undefined;
}

const beginAtFirst = (snapshot: LedgerSnapshot, checkpoints: readonly Checkpoint[]): Begin => ({
  stages: stagesOf(snapshot, checkpoints),
  accounts: new Map(),
  entries: 0,
  comparesBalances: true,
  fault: undefined,
});

/** The stored accounts without the entries since the checkpoint must be those of the checkpoint. */
async function beginAt(
  store: Store,
  { since, snapshot, signal }: { since: Checkpoint; snapshot: LedgerSnapshot; signal: AbortSignal },
): Promise<Begin> {
  const stages = stagesSince(snapshot, since);
  const accounts: Rebuilt = new Map(snapshot.accounts);
  for (const chain of stages.flatMap(({ chains }) => chains)) await rewindChain(store, { chain, accounts, signal });
  const isSame = (await hashAccounts(accounts)) === since.accountsHash;
  const reason = `without the entries since then, the accounts are not those of checkpoint ${since.id}; the full check names the account`;
  const fault: LedgerFault = { kind: "balance", seq: 0, record: "accounts", reason };
  return { stages, accounts, entries: since.entries, comparesBalances: isSame, fault: isSame ? undefined : fault };
}

/** Walks the stages in their order, because accounts go on from where the stage before left them. */
async function walkStages({ stages, accounts, ...begin }: Begin, walk: (chain: Chain) => Promise<ChainCheck>): Promise<ChainCheck> {
  let { entries } = begin;
  for (const { chains, checkpoint } of stages) {
    const checks = await walkAll(chains, walk);
    entries = checks.reduce((total, check) => total + check.entries, entries);
    const found = firstOf(checks);
    const fault = checkpoint && !found ? await compareCheckpoint(checkpoint, { entries, accounts }) : found && causeOf(found, checkpoint);
    if (fault) return { entries, fault };
  }
  return { entries, fault: undefined };
}

/** The end of a chain within the ledger is only what the checkpoint says of it. */
function causeOf(fault: LedgerFault, checkpoint: Checkpoint | undefined): LedgerFault {
  return checkpoint && fault.kind === "head" ? badCheckpoint(checkpoint.id, `${fault.record}: ${fault.reason}`) : fault;
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
