import { applyTransfer, EMPTY_HEAD, emptyAccount, entryHash, organizationAccount } from "../domain/ledger.ts";
import type { Account, LedgerEntry, LedgerHead, UsageRow } from "../domain/records.ts";
import type { Reader, Store } from "../stores/store.ts";
import type { FaultKind, LedgerFault } from "./ledger-fault.ts";
import { inPages } from "./pages.ts";

const QUIET_ATTEMPTS = 3;

/** Outcome of the check of the ledger's entries. */
export interface EntriesCheck {
  readonly head: LedgerHead;
  readonly accounts: number;
  /** Sum over all stored accounts, at one moment. */
  readonly sum: bigint;
  readonly entries: number;
  readonly fault: LedgerFault | undefined;
}

/**
 * Checks the ledger from its first entry to the head at the start: no gap, every entry moves one amount between an organization and the
 * platform, the hash chain holds, every charged call is in the log, and accounts rebuilt from the entries equal the stored accounts.
 * Memory grows with the number of accounts, not of entries.
 */
export async function checkEntries(store: Store, signal: AbortSignal): Promise<EntriesCheck> {
  const { head, accounts } = await readSnapshot(store, signal);
  const sum = [...accounts.values()].reduce((total, { balance }) => total + balance, 0n);
  const walk: Walk = { seq: 0, hash: EMPTY_HEAD.hash, accounts: new Map() };
  const fault = (await walkEntries(store, { walk, head, signal })) ?? compareSnapshot(walk, head, accounts);
  return { head, accounts: accounts.size, sum, entries: walk.seq, fault };
}

/** State after the entries checked so far. */
interface Walk {
  seq: number;
  hash: string;
  readonly accounts: Map<string, Account>;
}

interface LedgerSnapshot {
  head: LedgerHead;
  accounts: ReadonlyMap<string, Account>;
}

/** Reads head and accounts of one moment: without a lock while nothing is posted, and in a transaction if postings never pause. */
async function readSnapshot(store: Store, signal: AbortSignal): Promise<LedgerSnapshot> {
  for (let attempt = 0; attempt < QUIET_ATTEMPTS; attempt++) {
    const { seq } = await headOf(store);
    const accounts = await readAccounts(store, signal);
    const head = await headOf(store);
    if (head.seq === seq) return { head, accounts };
  }
  return store.transaction([], async (tx) => ({ head: await headOf(tx), accounts: await readAccounts(tx, signal) }));
}

async function headOf(reader: Reader): Promise<LedgerHead> {
  return (await reader.get("ledgerHead", "head")) ?? EMPTY_HEAD;
}

async function readAccounts(reader: Reader, signal: AbortSignal): Promise<Map<string, Account>> {
  const accounts = new Map<string, Account>();
  for await (const page of inPages(reader, "accounts", { signal })) for (const account of page) accounts.set(account.id, account);
  return accounts;
}

async function walkEntries(
  store: Store,
  { walk, head, signal }: { walk: Walk; head: LedgerHead; signal: AbortSignal },
): Promise<LedgerFault | undefined> {
  for await (const page of inPages(store, "ledger", { range: { before: head.seq + 1 }, signal })) {
    const calls = page.filter(({ type }) => type === "usage").map(({ reference }) => reference);
    const rows = new Map((await store.getMany("usage", calls)).flatMap((row) => (row ? [[row.id, row]] : [])));
    for (const entry of page) {
      const fault = follow(walk, entry) ?? compareCall(entry, rows.get(entry.reference));
      if (fault) return fault;
    }
  }
  return undefined;
}

function follow(walk: Walk, entry: LedgerEntry): LedgerFault | undefined {
  const bad = (kind: FaultKind, reason: string) => badEntry(entry, kind, reason);
  if (entry.id !== walk.seq + 1) return bad("sequence", `entry ${walk.seq + 1} is missing`);
  const { hash, ...fields } = entry;
  if (entryHash(walk.hash, fields) !== hash) return bad("chain", "the hash does not follow from the entry before");
  const imbalance = transferProblem(entry);
  if (imbalance) return bad("transfer", imbalance);
  for (const id of [entry.from, entry.to]) if (!walk.accounts.has(id)) walk.accounts.set(id, emptyAccount(id));
  const { balance } = applyTransfer(walk.accounts, entry, { seq: entry.id, now: entry.createdAt });
  walk.seq = entry.id;
  walk.hash = hash;
  return balance === entry.balanceAfter ? undefined : bad("balance", `the balance after it is ${balance}, not ${entry.balanceAfter}`);
}

/** A transfer sums to zero by construction if it names two accounts and one amount above zero. */
function transferProblem({ amount, from, to, organizationId }: LedgerEntry): string | undefined {
  if (amount <= 0n) return "the amount is not above zero";
  if (from === to) return "from and to are the same account";
  const own = organizationAccount(organizationId);
  if (from !== own && to !== own) return `neither side is the account of ${organizationId}`;
  const other = from === own ? to : from;
  // An entry names one organization, so the statement of the other one would lack it.
  return other.startsWith(organizationAccount("")) ? `it moves between two organizations, ${from} and ${to}` : undefined;
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

const ACCOUNT_FIELDS = ["balance", "seq", "purchased", "granted", "rewarded", "used"] as const;

function compareSnapshot(walk: Walk, head: LedgerHead, accounts: ReadonlyMap<string, Account>): LedgerFault | undefined {
  const badHead = (reason: string): LedgerFault => ({ kind: "head", seq: walk.seq, record: "head", reason });
  if (walk.seq !== head.seq) return badHead(`the ledger ends at ${walk.seq}, its head says ${head.seq}`);
  if (walk.hash !== head.hash) return badHead("the head's hash is not the last entry's");
  for (const id of new Set([...accounts.keys(), ...walk.accounts.keys()])) {
    const [stored, expected] = [accounts.get(id), walk.accounts.get(id) ?? emptyAccount(id)];
    const bad = (reason: string): LedgerFault => ({ kind: "balance", seq: expected.seq, record: `account ${id}`, reason });
    if (!stored) return bad(`account ${id} is missing, its entries say ${expected.balance}`);
    const field = ACCOUNT_FIELDS.find((name) => stored[name] !== expected[name]);
    if (field === "balance") return bad(`account ${id} holds ${stored.balance}, its entries say ${expected.balance}`);
    if (field) return bad(`account ${id} says ${field} ${stored[field]}, its entries say ${expected[field]}`);
  }
  return undefined;
}

function badEntry({ id }: LedgerEntry, kind: FaultKind, reason: string): LedgerFault {
  return { kind, seq: id, record: `entry ${id}`, reason };
}
