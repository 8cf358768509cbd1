import type { LedgerEntry, UsageRow } from "../domain/records.ts";
import { usageContentHash } from "../domain/settlement.ts";
import type { Store } from "../stores/store.ts";
import type { Finding, FindingKind } from "./finding.ts";

/** The first row of a page that is not as it was settled: its charge in the ledger, its content as reported. */
export async function findBadRow(store: Store, rows: readonly UsageRow[]): Promise<Finding | undefined> {
  const charged = rows.flatMap(({ ledgerSeq }) => (ledgerSeq === undefined ? [] : [ledgerSeq]));
  const entries = new Map((await store.getMany("ledger", charged)).flatMap((entry) => (entry ? [[entry.id, entry]] : [])));
  for (const row of rows) {
    const finding = compareEntry(row, row.ledgerSeq === undefined ? undefined : entries.get(row.ledgerSeq)) ?? checkContent(row);
    if (finding) return finding;
  }
  return undefined;
}

function compareEntry(row: UsageRow, entry: LedgerEntry | undefined): Finding | undefined {
  const bad = (reason: string) => badRow(row, "usage", reason);
  if (row.ledgerSeq === undefined) return row.cost === 0n ? undefined : bad(`it cost ${row.cost}, and no entry charges it`);
  if (!entry) return bad(`entry ${row.ledgerSeq}, which charges it, is missing`);
  if (entry.reference !== row.id) return bad(`entry ${entry.id}, which it names, charges ${entry.reference}`);
  return entry.amount === row.cost ? undefined : bad(`it cost ${row.cost}, entry ${entry.id} charges ${entry.amount}`);
}

function checkContent(row: UsageRow): Finding | undefined {
  const { contentHash, ledgerSeq: _, ...content } = row;
  // Work that was paid before was settled for nothing, under the hash of what its edge reported.
  if (row.onceFor !== undefined && row.cost === 0n) return undefined;
  return usageContentHash(content) === contentHash ? undefined : badRow(row, "content", "it is not as the edge reported it");
}

function badRow({ id, ledgerSeq }: UsageRow, kind: FindingKind, reason: string): Finding {
  return { kind, seq: ledgerSeq ?? 0, record: `call ${id}`, reason: `the call ${id}: ${reason}` };
}
