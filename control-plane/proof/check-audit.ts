import { auditHash, CHAIN_START } from "../domain/audit.ts";
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
 * Checks the audit log from its first entry to the last one at the start: no gap, and the hash chain holds. Entries from before the log was
 * chained have no hash; the chain starts at the first entry that has one.
 */
export async function checkAudit(store: Store, signal: AbortSignal): Promise<AuditCheck> {
  const head = (await store.get("counters", "audit")) ?? { id: "audit", value: 0 };
  const walk: Walk = { seq: 0, hash: undefined, chained: 0 };
  for await (const page of inPages(store, "audit", { range: { before: head.value + 1 }, signal })) {
    for (const entry of page) {
      const fault = follow(walk, entry);
      if (fault) return { head, entries: walk.seq, chained: walk.chained, fault };
    }
  }
  return { head, entries: walk.seq, chained: walk.chained, fault: compareHead(walk, head) };
}

/** State after the entries checked so far. */
interface Walk {
  seq: number;
  hash: string | undefined;
  chained: number;
}

function follow(walk: Walk, entry: AuditEntry): AuditFault | undefined {
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
  return undefined;
}

function compareHead(walk: Walk, head: Counter): AuditFault | undefined {
  const bad = (reason: string): AuditFault => ({ kind: "head", seq: head.value, reason });
  if (walk.seq !== head.value) return bad(`the log ends at ${walk.seq}, its last number is ${head.value}`);
  return walk.hash === head.hash ? undefined : bad("the hash of the last entry is not the last hash that was written");
}
