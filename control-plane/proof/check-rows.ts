import type { LedgerEntry, UsageRow } from "../domain/records.ts";
import { usageContentHash } from "../domain/settlement.ts";
import type { Store } from "../stores/store.ts";
import type { FaultKind, LedgerFault } from "./ledger-fault.ts";

/** The first row of a page that does not match its ledger entry or the content hash of its report. */
export async function findBadRow(store: Store, rows: readonly UsageRow[]): Promise<LedgerFault | undefined> {
  const charged = rows.flatMap(({ ledgerSeq }) => (ledgerSeq === undefined ? [] : [ledgerSeq]));
  const entries = new Map((await store.getMany("ledger", charged)).flatMap((entry) => (entry ? [[entry.id, entry]] : [])));
  for (const row of rows) {
    const fault = compareEntry(row, row.ledgerSeq === undefined ? undefined : entries.get(row.ledgerSeq)) ?? checkContent(row);
    if (fault) return fault;
  }
  return undefined;
}

function compareEntry(row: UsageRow, entry: LedgerEntry | undefined): LedgerFault | undefined {
  const bad = (reason: string) => badRow(row, "usage", reason);
  if (row.ledgerSeq === undefined) return row.cost === 0n ? undefined : bad(`it cost ${row.cost}, and no entry charges it`);
  if (!entry) return bad(`entry ${row.ledgerSeq}, which charges it, is missing`);
  if (entry.reference !== row.id) return bad(`entry ${entry.id}, which it names, charges ${entry.reference}`);
  return entry.amount === row.cost ? undefined : bad(`it cost ${row.cost}, entry ${entry.id} charges ${entry.amount}`);
}

function checkContent(row: UsageRow): LedgerFault | undefined {
  const { contentHash, ledgerSeq: _, reportedCost, ...content } = row;
  // Older releases settled repeated background work at no cost, and did not store the cost that its edge reported.
  if (row.onceFor !== undefined && row.cost === 0n && reportedCost === undefined) return undefined;
  return usageContentHash({ ...content, cost: reportedCost ?? row.cost }) === contentHash
    ? undefined
    : badRow(row, "content", "the row differs from the edge's report");
}

function badRow({ id, ledgerSeq }: UsageRow, kind: FaultKind, reason: string): LedgerFault {
  return { kind, seq: ledgerSeq ?? 0, record: `call ${id}`, reason: `the call ${id}: ${reason}` };
}
