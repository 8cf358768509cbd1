/** What was moved from an organization's log to archives. Written in the transactions that remove the rows. */
export interface UsageArchive {
  /** The organization. */
  id: string;
  organizationId: string;
  /** End of the newest month of which rows were archived. Earlier rows may be missing from the log. */
  before: number;
  rows: number;
  /** Archived rows that a ledger entry charges, and the sum of their costs: as many entries have no row in the log. */
  charged: number;
  cost: bigint;
  /** The largest number of an entry that charges an archived row, 0 if there is none. Absent in records that began without it, which may have larger ones. */
  lastSeq?: number;
}

/** The beginning of the UTC month of a time. */
export function monthStart(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** The beginning of the UTC month after that of a time. */
export function monthEnd(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

/** The UTC month of a time, as 2026-08. */
export function monthName(time: number): string {
  return new Date(time).toISOString().slice(0, "2026-08".length);
}
