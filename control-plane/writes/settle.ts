import { slotOf } from "../../common/slots.ts";
import { postCharges } from "../domain/charges.ts";
import { accountInSlot, type LedgerState, organizationAccount } from "../domain/ledger.ts";
import type { PaidWork } from "../domain/paid-work.ts";
import type { KeyUse, LedgerEntry, Rollup, UsageRow } from "../domain/records.ts";
import { addCall, addRollups, isSameRollup, rollupKey, rollupOf } from "../domain/settlement.ts";
import type { Transaction } from "../stores/store.ts";
import { writeAudit } from "./audit.ts";
import { addToBudgets } from "./budgets.ts";
import { readLedger, writeLedger } from "./ledger.ts";
import { watchThresholds } from "./low-balance.ts";
import { followBalances } from "./team-blocks.ts";

/** What happened to a batch of reported calls. */
export interface SettleOutcome {
  settled: number;
  /** Reported before with the same content: a success that changes nothing. */
  repeated: number;
  /** Reported before with other content: refused. `auditMismatches` writes them to the audit log. */
  refused: string[];
  /** The calls that this batch settled, as they were reported. */
  fresh: readonly UsageRow[];
  /** The same calls as they are stored. */
  stored: readonly UsageRow[];
}

/** Longer than any background work may take. */
const PAID_WORK_MS = 7 * 24 * 3_600_000;
/** Rows are archived after this time at the earliest: the least USAGE_KEPT_DAYS. */
const ARCHIVED_MS = 7 * 24 * 3_600_000;

/**
 * Settles a batch of calls in one transaction: ledger entries, usage rows, roll-ups, uses of keys and budgets, balances, and, if a
 * balance fell below zero, the block of the organization's teams with its feed row. Idempotent by call id, so a batch may be
 * repeated, split or reordered. Known calls are filtered out first, because a duplicate key would abort the whole MongoDB transaction.
 */
export async function settleCalls(tx: Transaction, rows: readonly UsageRow[], now: number): Promise<SettleOutcome> {
  const { fresh: reported, repeated, refused } = await sortOut(tx, rows, now);
  if (reported.length === 0) return { settled: 0, repeated, refused, fresh: reported, stored: [] };

  const fresh = await payWorkOnce(tx, reported, now);
  const organizations = new Set(fresh.filter((row) => row.cost > 0n).map((row) => row.organizationId));
  const ledger = await readCharged(tx, organizations);
  const { entries, settledRows } = postUsage(ledger, fresh, now);
  tx.insertNew("ledger", entries);
  tx.insertNew("usage", settledRows);
  await watchThresholds(tx, ledger, organizations, now);
  if (entries.length > 0) await writeLedger(tx, ledger);
  await addToRollups(tx, settledRows);
  await addToKeys(tx, settledRows);
  await addToBudgets(tx, settledRows);

  // Only teams of an organization with a negative balance can need a block.
  const negative = new Map<string, bigint>();
  for (const organizationId of organizations) {
    const balance = ledger.accounts.get(organizationAccount(organizationId))?.balance ?? 0n;
    if (balance < 0n) negative.set(organizationId, balance);
  }
  await followBalances(tx, negative, now);
  return { settled: fresh.length, repeated, refused, fresh: reported, stored: settledRows };
}

/** Writes refused calls to the audit log, in a transaction of its own: the log is one chain, and a settlement must not wait for it. */
export async function auditMismatches(tx: Transaction, callIds: readonly string[], now: number): Promise<void> {
  for (const id of callIds) {
    await writeAudit(tx, { actorKind: "system", action: "settlement.mismatch", target: id, requestId: id }, now);
  }
}

async function sortOut(tx: Transaction, rows: readonly UsageRow[], now: number) {
  const byId = new Map<string, UsageRow>();
  const refused: string[] = [];
  let repeated = 0;
  const known = await tx.getMany(
    "usage",
    rows.map((row) => row.id),
  );
  const archived = await archivedCharges(
    tx,
    rows.filter((row, index) => !known[index] && row.cost > 0n && row.createdAt < now - ARCHIVED_MS),
  );
  for (const [index, row] of rows.entries()) {
    const earlier = known[index] ?? byId.get(row.id);
    if (earlier?.contentHash === row.contentHash) repeated++;
    else if (earlier) refused.push(row.id);
    else if (archived.has(row.id)) repeated++;
    else byId.set(row.id, row);
  }
  return { fresh: [...byId.values()], repeated, refused };
}

/**
 * Which calls, whose rows may be archived, were charged: ledger entries stay. A call without cost has none; if it is reported again after so long, it
 * is in the log again.
 */
async function archivedCharges(tx: Transaction, rows: readonly UsageRow[]): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set();
  const entries = await tx.listMany(
    "ledger",
    "byReference",
    rows.map(({ id }) => id),
  );
  const isCharge = (row: UsageRow, index: number) => entries[index]?.some((entry) => isChargeOf(entry, row)) ?? false;
  return new Set(rows.filter(isCharge).map(({ id }) => id));
}

function isChargeOf({ type, organizationId }: LedgerEntry, row: UsageRow): boolean {
  return type === "usage" && organizationId === row.organizationId;
}

/**
 * Background work of an edge that died is repeated by another edge, under another call id. A call is charged what exceeds the charges
 * before it, so that the work costs what its dearest call costs: an attempt that was cut short does not pay for the whole answer, and no
 * answer is paid twice. The rows stay, with their usage.
 */
async function payWorkOnce(tx: Transaction, rows: readonly UsageRow[], now: number): Promise<UsageRow[]> {
  const asked = [...new Set(rows.flatMap(({ onceFor, cost }) => (onceFor !== undefined && cost > 0n ? [onceFor] : [])))];
  if (asked.length === 0) return [...rows];
  const known = new Map((await tx.getMany("paidWork", asked)).flatMap((work) => (work ? [[work.id, work]] : [])));
  const charged = new Map<string, PaidWork>();
  const settled = rows.map((row) => {
    if (row.onceFor === undefined || row.cost === 0n) return row;
    const { id: callId, organizationId, cost: reportedCost } = row;
    const before = charged.get(row.onceFor) ?? known.get(row.onceFor);
    const paid = before ? (before.amount ?? reportedCost) : 0n;
    if (reportedCost <= paid) return { ...row, cost: 0n, reportedCost };
    const first = before ?? { id: row.onceFor, organizationId, callId };
    charged.set(row.onceFor, { ...first, amount: reportedCost, expiresAt: now + PAID_WORK_MS });
    return before ? { ...row, cost: reportedCost - paid, reportedCost } : row;
  });
  const writes = [...charged.values()];
  tx.insertNew(
    "paidWork",
    writes.filter(({ id }) => !known.has(id)),
  );
  for (const work of writes) if (known.has(work.id)) await tx.put("paidWork", work);
  return settled;
}

/** Heads and accounts that calls of the organizations change. */
function readCharged(tx: Transaction, organizations: ReadonlySet<string>): Promise<LedgerState> {
  const slots = new Set([...organizations].map((id) => slotOf(id, tx.slots)));
  const revenues = [...slots].map((slot) => revenueOf(slot, tx.slots));
  return readLedger(tx, { slots, accountIds: [...revenues, ...[...organizations].map(organizationAccount)] });
}

function revenueOf(slot: number, slots: number): string {
  return accountInSlot("revenue", { slot, slots });
}

function postUsage(ledger: LedgerState, rows: readonly UsageRow[], now: number): { entries: LedgerEntry[]; settledRows: UsageRow[] } {
  const charged = rows.filter(({ cost }) => cost > 0n);
  const charges = charged.map(({ organizationId, cost: amount, id: reference }) => ({ organizationId, amount, reference }));
  const entries = postCharges(ledger, charges, now);
  let next = 0;
  const settledRows = rows.map((row) => {
    const entry = row.cost > 0n ? entries[next++] : undefined;
    return entry ? { ...row, ledgerSeq: entry.id } : row;
  });
  return { entries, settledRows };
}

async function addToRollups(tx: Transaction, rows: readonly UsageRow[]): Promise<void> {
  const byKey = new Map<string, Rollup>();
  let last: { row: UsageRow; key: string } | undefined;
  for (const row of rows) {
    const key = last && isSameRollup(last.row, row) ? last.key : rollupKey(row);
    const sum = byKey.get(key);
    if (sum) addCall(sum, row);
    else byKey.set(key, rollupOf(row));
    last = { row, key };
  }
  const sums = [...byKey.values()];
  const stored = await tx.getMany(
    "rollups",
    sums.map(({ id }) => id),
  );
  for (const [index, sum] of sums.entries()) {
    const before = stored[index];
    await tx.put("rollups", before ? addRollups(before, sum) : sum);
  }
}

async function addToKeys(tx: Transaction, rows: readonly UsageRow[]): Promise<void> {
  const uses = new Map<string, KeyUse>();
  for (const row of rows) {
    const use = uses.get(row.apiKeyId) ?? { id: row.apiKeyId, organizationId: row.organizationId, spend: 0n };
    use.spend += row.cost;
    use.lastUsedAt = Math.max(use.lastUsedAt ?? 0, row.createdAt);
    uses.set(row.apiKeyId, use);
  }
  const ids = [...uses.keys()];
  const stored = await tx.getMany("keyUses", ids);
  for (const [index, id] of ids.entries()) {
    const [use, before] = [uses.get(id), stored[index]];
    if (!use) continue;
    await tx.put("keyUses", {
      ...use,
      spend: (before?.spend ?? 0n) + use.spend,
      lastUsedAt: Math.max(before?.lastUsedAt ?? 0, use.lastUsedAt ?? 0),
    });
  }
}
