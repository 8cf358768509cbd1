import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import type { TeamRecord } from "./records.ts";

export const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** The list a record stands in. Ids hold no slash, so two lists never share a name. */
export function scopeOf({ teamId, kind, parentId }: { teamId: string; kind: string; parentId?: string | undefined }): string {
  return `${teamId}/${kind}/${parentId ?? ""}`;
}

export interface RecordChange {
  readonly body: string;
  readonly expectedRevision?: number | undefined;
  readonly dueAt?: number | undefined;
  readonly claim?: string | undefined;
  readonly expiresAt?: number | undefined;
  readonly keepWork: boolean;
}

/** The record after the change; throws when what the writer believed of it does not hold any more. */
export function changeRecord(record: TeamRecord, change: RecordChange, now: number): TeamRecord {
  requireRevision(record, change.expectedRevision);
  const { dueAt, claim, expiresAt, ...rest } = record;
  const written = { ...rest, body: change.body, revision: record.revision + 1 };
  if (change.keepWork) {
    if (change.claim !== undefined && change.claim !== claim) throw lostClaim();
    return { ...written, ...defined({ dueAt, claim, expiresAt }) };
  }
  requireClaim(record, change, now);
  const held = change.dueAt === undefined ? undefined : change.claim;
  return { ...written, ...defined({ dueAt: change.dueAt, claim: held, expiresAt: change.expiresAt }) };
}

export function requireRevision(record: TeamRecord, expected: number | undefined): void {
  if (expected === undefined || expected === record.revision) return;
  throw new AppError("RECORD_CHANGED", "It was changed meanwhile. Read it again.", {
    internal: `${record.id} has revision ${record.revision}, not ${expected}`,
  });
}

/** The record as its new holder has it, until the lease runs out. */
export function claimRecord(record: TeamRecord, lease: { claim: string; leaseMs: number }, now: number): TeamRecord {
  return { ...record, claim: lease.claim, dueAt: now + lease.leaseMs };
}

function isDue({ dueAt }: TeamRecord, now: number): boolean {
  return dueAt !== undefined && dueAt <= now;
}

function requireClaim(record: TeamRecord, { claim, expectedRevision }: RecordChange, now: number): void {
  if (record.claim === claim) return;
  const isHeld = record.claim !== undefined && !isDue(record, now);
  if (isHeld) throw lostClaim();
  // Nobody holds it: free for all. One who names a claim takes it, or has lost it; the revision tells the two apart.
  if (claim !== undefined && expectedRevision === undefined) throw lostClaim();
}

function lostClaim(): AppError {
  return new AppError("RECORD_CHANGED", "Somebody else works on it now.");
}
