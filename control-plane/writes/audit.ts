import type { AuditEntry } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { nextNumber } from "./counters.ts";

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

/** Writes an audit line in the transaction of the change. */
export async function writeAudit(tx: Transaction, input: AuditInput, now: number): Promise<void> {
  await tx.insert("audit", {
    id: await nextNumber(tx, "audit"),
    at: now,
    ...(input.actorId === undefined ? {} : { actorId: input.actorId }),
    actorKind: input.actorKind,
    action: input.action,
    target: input.target,
    ...(input.organizationId === undefined ? {} : { organizationId: input.organizationId }),
    requestId: input.requestId,
    details: JSON.stringify(input.details ?? {}, (_key, value: unknown) => (typeof value === "bigint" ? value.toString() : value)),
  });
}
