/** Where the audit log in the store begins: what was before is in archives. Written in the transactions that remove the entries. */
export interface AuditArchive {
  id: typeof AUDIT_ARCHIVE;
  /** The last archived entry, and its hash, which the first entry of the log covers. Absent: that entry is from before the chain. */
  seq: number;
  hash?: string;
  /** How many archived entries have a hash. */
  chained: number;
}

export const AUDIT_ARCHIVE = "audit";

export const NOTHING_ARCHIVED: AuditArchive = { id: AUDIT_ARCHIVE, seq: 0, chained: 0 };

/** The action of the entry that the log gets for each archived part; its details have the last entry of the part as `to`. */
export const ARCHIVE_ACTION = "audit.archive";
