import { auditHash, CHAIN_START } from "../domain/audit.ts";
import { ARCHIVE_ACTION, AUDIT_ARCHIVE, type AuditArchive, NOTHING_ARCHIVED } from "../domain/audit-archive.ts";
import type { AuditEntry, Counter } from "../domain/records.ts";
import type { Store } from "../stores/store.ts";
import { inPages } from "./pages.ts";

/** The first entry of the audit log that is wrong: missing, not chained to the one before it, or not the last one that was written. */
export interface AuditFault {
  readonly kind: "sequence" | "chain" | "head";
  readonly seq: number;
  readonly reason: string;
}

/** Outcome of the check of the audit log. */
export interface AuditCheck {
  readonly head: Counter;
  readonly entries: number;
  readonly chained: number;
  readonly fault: AuditFault | undefined;
}

/**
 * Checks the audit log from its first entry in the store to the last one at the start: no gap, the hash chain holds, and an entry says that what is missing
 * at its beginning was archived. Entries from before the log was chained have no hash; the chain starts at the first entry that has one.
 */
export async function checkAudit(store: Store, signal: AbortSignal): Promise<AuditCheck> {
  for (;;) {
    const begin = await readBegin(store);
    const check = await checkAfter(store, begin, signal);
    // Entries may be archived during the check; then it is made again from where the log begins now.
    if (!check.fault || (await readBegin(store)).seq === begin.seq) return check;
  }
}

async function readBegin(store: Store): Promise<AuditArchive> {
  return (await store.get("auditArchives", AUDIT_ARCHIVE)) ?? NOTHING_ARCHIVED;
}

async function checkAfter(store: Store, begin: AuditArchive, signal: AbortSignal): Promise<AuditCheck> {
  const head = (await store.get("counters", "audit")) ?? { id: "audit", value: 0 };
  const walk = walkAfter(begin);
  for await (const page of inPages(store, "audit", { range: { before: head.value + 1 }, signal })) {
    for (const entry of page) {
      const fault = followAudit(walk, entry);
      if (fault) return { head, entries: walk.seq, chained: walk.chained, fault };
    }
  }
  return { head, entries: walk.seq, chained: walk.chained, fault: compareHead(walk, head) ?? compareBegin(walk, begin) };
}

/** State after the entries checked so far. */
export interface AuditWalk {
  seq: number;
  hash: string | undefined;
  chained: number;
  /** The last entry that was archived, as the entries say. */
  archivedTo: number;
}

export function walkAfter({ seq, hash, chained }: AuditArchive): AuditWalk {
  return { seq, hash, chained, archivedTo: 0 };
}

/** Checks an entry against the one before it, and goes on to it. */
export function followAudit(walk: AuditWalk, entry: AuditEntry): AuditFault | undefined {
  const bad = (kind: AuditFault["kind"], reason: string): AuditFault => ({ kind, seq: entry.id, reason });
  if (entry.id !== walk.seq + 1) return bad("sequence", `entry ${walk.seq + 1} is missing`);
  const { hash, ...fields } = entry;
  if (hash === undefined && walk.hash !== undefined) return bad("chain", "it has no hash, and the entry before has one");
  if (hash !== undefined && auditHash(walk.hash ?? CHAIN_START, fields) !== hash) {
    return bad("chain", "the hash does not follow from the entry before");
  }
  walk.seq = entry.id;
  walk.hash = hash;
  if (hash !== undefined) walk.chained++;
  if (entry.action === ARCHIVE_ACTION) walk.archivedTo = Math.max(walk.archivedTo, (JSON.parse(entry.details) as { to: number }).to);
  return undefined;
}

/** The removal of the oldest entries is itself an entry, which the chain covers. */
function compareBegin({ archivedTo }: AuditWalk, begin: AuditArchive): AuditFault | undefined {
  if (begin.seq <= archivedTo) return undefined;
  const said = archivedTo === 0 ? "no entry says that any was archived" : `the entries say that ${archivedTo} was the last to be archived`;
  return { kind: "sequence", seq: begin.seq, reason: `the log begins after entry ${begin.seq}, and ${said}` };
}

function compareHead(walk: AuditWalk, head: Counter): AuditFault | undefined {
  const bad = (reason: string): AuditFault => ({ kind: "head", seq: head.value, reason });
  if (walk.seq !== head.value) return bad(`the log ends at ${walk.seq}, its last number is ${head.value}`);
  return walk.hash === head.hash ? undefined : bad("the hash of the last entry is not the last hash that was written");
}
