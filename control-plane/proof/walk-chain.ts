import { setImmediate as nextTurn } from "node:timers/promises";
import { slotOf } from "../../common/slots.ts";
import { accountInSlot, applyTransfer, emptyAccount, entryHash, organizationAccount } from "../domain/ledger.ts";
import type { Account, LedgerEntry, LedgerHead, UsageRow } from "../domain/records.ts";
import { readAhead } from "../stores/read-ahead.ts";
import type { Store } from "../stores/store.ts";
import type { ArchivedCalls } from "./archived-calls.ts";
import { findLoneTransit } from "./check-transit.ts";
import type { FaultKind, LedgerFault } from "./ledger-fault.ts";

const PAGE_ENTRIES = 200;

/** One hash chain of the ledger: a slot's, or the closed one from before slots. */
export interface Chain {
  /** The number before the first entry, and what that entry's hash covers. */
  readonly begin: Pick<LedgerHead, "seq" | "hash">;
  readonly head: LedgerHead;
  /** From one entry's number to the next. */
  readonly step: number;
  /** The slot of all its entries; absent for the closed chain, which has entries of all organizations. */
  readonly slot?: number;
}

/** Accounts rebuilt from the entries walked so far. Chains may share it: an account belongs to one slot. */
export type Rebuilt = Map<string, Account>;

/** Outcome of a walk. */
export interface ChainCheck {
  readonly entries: number;
  readonly fault: LedgerFault | undefined;
}

export interface WalkOptions {
  readonly chain: Chain;
  readonly accounts: Rebuilt;
  readonly archived: ArchivedCalls;
  /** False if the accounts at the chain's beginning are not known to be right. */
  readonly comparesBalances: boolean;
  readonly signal: AbortSignal;
}

/**
 * Checks a chain from its first entry to the head: no gap, every entry moves one amount between an organization and the platform, hashes
 * follow each other, every charged call is in the log or archived, and every amount in transit has its counterpart. It rebuilds the accounts on the way.
 */
export async function walkChain(store: Store, { chain, accounts, archived, comparesBalances, signal }: WalkOptions): Promise<ChainCheck> {
  const walk: Walk = { chain, slots: store.slots, seq: chain.begin.seq, hash: chain.begin.hash, accounts, comparesBalances };
  const check = (fault: LedgerFault | undefined): ChainCheck => ({ entries: (walk.seq - chain.begin.seq) / chain.step, fault });
  for await (const { entries, rows, lone } of readAhead(entryPages(store, { chain, signal }))) {
    for (const entry of entries) {
      const row = rows.get(entry.reference);
      const fault = follow(walk, entry) ?? ((await isArchivedCall(entry, row, archived)) ? undefined : compareCall(entry, row));
      if (fault) return check(fault);
    }
    if (lone) return check(lone);
  }
  return check(compareHead(walk));
}

/** Entries of a chain with what they are compared with. */
interface EntryPage {
  readonly entries: readonly LedgerEntry[];
  /** The calls that they charge, by id. */
  readonly rows: ReadonlyMap<string, UsageRow>;
  /** A transfer between organizations that has no counterpart. */
  readonly lone: LedgerFault | undefined;
}

/** Ends at a page without entries: the head then says what is missing. */
async function* entryPages(store: Store, { chain, signal }: Pick<WalkOptions, "chain" | "signal">): AsyncGenerator<EntryPage> {
  for (let { seq } = chain.begin; seq < chain.head.seq; seq += PAGE_ENTRIES * chain.step) {
    signal.throwIfAborted();
    const entries = await readPage(store, { chain, seq });
    if (entries.length === 0) return;
    const lone = await findLoneTransit(store, entries);
    const calls = entries.filter(({ type }) => type === "usage").map(({ reference }) => reference);
    const rows = new Map((await store.getMany("usage", calls)).flatMap((row) => (row ? [[row.id, row]] : [])));
    yield { entries, rows, lone };
    await nextTurn();
  }
}

/** Takes the entries of a chain back from the accounts: what is left is their state at the chain's beginning, but for the numbers of last entries. */
export async function rewindChain(
  store: Store,
  { chain, accounts, signal }: Pick<WalkOptions, "chain" | "accounts" | "signal">,
): Promise<void> {
  for (let seq = chain.begin.seq; seq < chain.head.seq; ) {
    signal.throwIfAborted();
    const page = await readPage(store, { chain, seq });
    for (const entry of page) {
      for (const id of [entry.from, entry.to, organizationAccount(entry.organizationId)])
        if (!accounts.has(id)) accounts.set(id, emptyAccount(id));
      applyTransfer(accounts, { ...entry, amount: -entry.amount }, { seq: 0, now: 0 });
    }
    seq += PAGE_ENTRIES * chain.step;
    await nextTurn();
  }
}

/** State after the entries checked so far. */
interface Walk {
  readonly chain: Chain;
  readonly slots: number;
  seq: number;
  hash: string;
  readonly accounts: Rebuilt;
  readonly comparesBalances: boolean;
}

/** The next entries of a chain, by their numbers, because entries of other slots lie between them. */
async function readPage(store: Store, { chain: { step, head }, seq }: Pick<Walk, "chain" | "seq">): Promise<LedgerEntry[]> {
  const length = Math.min(PAGE_ENTRIES, Math.ceil((head.seq - seq) / step));
  const ids = Array.from({ length }, (_, index) => seq + (index + 1) * step);
  return (await store.getMany("ledger", ids)).filter((entry) => entry !== undefined);
}

function follow(walk: Walk, entry: LedgerEntry): LedgerFault | undefined {
  const bad = (kind: FaultKind, reason: string) => badEntry(entry, kind, reason);
  const next = walk.seq + walk.chain.step;
  if (entry.id !== next) return bad("sequence", `entry ${next} is missing`);
  const { hash, ...fields } = entry;
  if (entryHash(walk.hash, fields) !== hash) return bad("chain", "the hash does not follow from the entry before");
  const problem = transferProblem(entry) ?? slotProblem(entry, walk);
  if (problem) return bad("transfer", problem);
  for (const id of [entry.from, entry.to]) if (!walk.accounts.has(id)) walk.accounts.set(id, emptyAccount(id));
  const { balance } = applyTransfer(walk.accounts, entry, { seq: entry.id, now: entry.createdAt });
  walk.seq = entry.id;
  walk.hash = hash;
  if (!walk.comparesBalances) return undefined;
  return balance === entry.balanceAfter ? undefined : bad("balance", `the balance after it is ${balance}, not ${entry.balanceAfter}`);
}

/** A transfer sums to zero by construction if it names two accounts and one amount above zero. */
function transferProblem(entry: LedgerEntry): string | undefined {
  const { amount, from, to, organizationId } = entry;
  if (amount <= 0n) return "the amount is not above zero";
  if (from === to) return "from and to are the same account";
  const own = organizationAccount(organizationId);
  if (from !== own && to !== own) return `neither side is the account of ${organizationId}`;
  // An entry names one organization, so the statement of the other one would lack it.
  return otherSide(entry).startsWith(organizationAccount("")) ? `it moves between two organizations, ${from} and ${to}` : undefined;
}

/** An organization's entries are in the chain of its slot, between its account and accounts of that slot. */
function slotProblem(entry: LedgerEntry, { chain: { slot }, slots }: Walk): string | undefined {
  if (slot === undefined || slots === 1) return undefined;
  const own = slotOf(entry.organizationId, slots);
  if (own !== slot) return `it is in slot ${slot}, ${entry.organizationId} belongs to slot ${own}`;
  const other = otherSide(entry);
  const [name = "", named] = other.split("/");
  return accountInSlot(name, { slot, slots }) === other ? undefined : `account ${other} is not of slot ${named ?? slot}`;
}

function otherSide({ from, to, organizationId }: LedgerEntry): string {
  return from === organizationAccount(organizationId) ? to : from;
}

async function isArchivedCall(entry: LedgerEntry, row: UsageRow | undefined, archived: ArchivedCalls): Promise<boolean> {
  return entry.type === "usage" && row === undefined && (await archived.admits(entry));
}

function compareCall(entry: LedgerEntry, row: UsageRow | undefined): LedgerFault | undefined {
  if (entry.type !== "usage") return undefined;
  const bad = (reason: string) => badEntry(entry, "usage", reason);
  if (!row) return bad(`the call ${entry.reference} that it charges is not in the log`);
  if (row.cost !== entry.amount) return bad(`it charges ${entry.amount}, the call ${row.id} cost ${row.cost}`);
  if (row.ledgerSeq !== entry.id) return bad(`the call ${row.id} that it charges names entry ${row.ledgerSeq ?? "none"}`);
  if (row.organizationId !== entry.organizationId) return bad(`it charges ${entry.organizationId} for a call of ${row.organizationId}`);
  return undefined;
}

function compareHead({ chain: { head, slot }, slots, seq, hash }: Walk): LedgerFault | undefined {
  const record = slots > 1 && slot !== undefined ? `head of slot ${slot}` : "head";
  const bad = (reason: string): LedgerFault => ({ kind: "head", seq, record, reason });
  if (seq !== head.seq) return bad(`the ledger ends at ${seq}, its head says ${head.seq}`);
  return hash === head.hash ? undefined : bad("the head's hash is not the last entry's");
}

function badEntry({ id }: Pick<LedgerEntry, "id">, kind: FaultKind, reason: string): LedgerFault {
  return { kind, seq: id, record: `entry ${id}`, reason };
}
