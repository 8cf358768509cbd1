import type { AuditEntry } from "../../domain/records.ts";
import { type Page, type PageNumber, readPage } from "../../stores/page.ts";
import type { Reader } from "../../stores/store.ts";
import type { ScanBudget } from "../usage/log-scans.ts";

/** Which entries of the audit log are read; an undefined field matches every entry. */
export interface AuditFilter {
  readonly action: string | undefined;
  readonly organizationId: string | undefined;
  readonly actorId: number | undefined;
  /** Milliseconds; inclusive. */
  readonly start: number | undefined;
  /** Exclusive. */
  readonly end: number | undefined;
}

/** A page of the entries that match, newest first. A filter scans the whole log, within the limits of long scans. */
export async function readAuditPage(
  reader: Reader,
  { filter, page, budget }: { filter: AuditFilter; page: PageNumber; budget: ScanBudget },
): Promise<Page<AuditEntry>> {
  if (Object.values(filter).every((value) => value === undefined)) {
    return readPage(reader, "audit", { ...page, range: { reverse: true } });
  }
  const skip = (page.page - 1) * page.pageSize;
  const records: AuditEntry[] = [];
  let total = 0;
  for await (const entry of reader.scan("audit", { reverse: true })) {
    const slot = budget.count();
    if (slot) await slot;
    if (!matches(filter, entry)) continue;
    if (total >= skip && records.length < page.pageSize) records.push(entry);
    total++;
  }
  return { records, total };
}

/** A scan of this length needs no slot of the long scans. */
const EXPORT_SCAN_MAX = 5_000;
const EXPORT_ENTRIES_MAX = 1_000;
/** Well below the largest message. */
const EXPORT_DETAILS_MAX = 1024 * 1024;

/** The next entries of an export, oldest first, and where it continues; `nextSeq` is absent at the end of the log. */
export async function readAuditAfter(
  reader: Reader,
  filter: AuditFilter,
  afterSeq: number,
): Promise<{ entries: AuditEntry[]; nextSeq: number | undefined }> {
  const entries: AuditEntry[] = [];
  let [scanned, detailsLength] = [0, 0];
  for await (const entry of reader.scan("audit", { from: afterSeq + 1, limit: EXPORT_SCAN_MAX })) {
    scanned++;
    if (matches(filter, entry)) {
      entries.push(entry);
      detailsLength += entry.details.length;
    }
    const isFull = entries.length >= EXPORT_ENTRIES_MAX || detailsLength >= EXPORT_DETAILS_MAX;
    if (isFull || scanned === EXPORT_SCAN_MAX) return { entries, nextSeq: entry.id };
  }
  return { entries, nextSeq: undefined };
}

function matches(filter: AuditFilter, entry: AuditEntry): boolean {
  const { action, organizationId, actorId, start, end } = filter;
  return (
    (action === undefined || entry.action === action) &&
    (organizationId === undefined || entry.organizationId === organizationId) &&
    (actorId === undefined || entry.actorId === actorId) &&
    (start === undefined || entry.at >= start) &&
    (end === undefined || entry.at < end)
  );
}
