import { auditHash, CHAIN_START } from "../domain/audit.ts";
import type { AuditEntry } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";

/** A line of the audit log before it has a number. */
export interface AuditInput {
  actorId?: number | undefined;
  actorKind: AuditEntry["actorKind"];
  action: string;
  target: string;
  organizationId?: string | undefined;
  requestId: string;
  /** What changed; never a secret. */
  details?: object;
}

/**
 * Writes an audit line in the transaction of the change, chained to the line before it. The last number and the last hash are one record,
 * so that the chain adds no further conflict between transactions.
 */
export async function writeAudit(tx: Transaction, input: AuditInput, now: number): Promise<void> {
  const last = await tx.get("counters", "audit");
  const entry: Omit<AuditEntry, "hash"> = {
    id: (last?.value ?? 0) + 1,
    at: now,
    ...(input.actorId === undefined ? {} : { actorId: input.actorId }),
    actorKind: input.actorKind,
    action: input.action,
    target: input.target,
    ...(input.organizationId === undefined ? {} : { organizationId: input.organizationId }),
    requestId: input.requestId,
    details: JSON.stringify(input.details ?? {}, (_key, value: unknown) => (typeof value === "bigint" ? value.toString() : value)),
  };
  const hash = auditHash(last?.hash ?? CHAIN_START, entry);
  await tx.put("counters", { id: "audit", value: entry.id, hash });
  await tx.insert("audit", { ...entry, hash });
}
