import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import type { RecordKind } from "../../common/record-kinds.ts";
import type { TeamRecord } from "./records.ts";

export const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Name of the list that contains a record. Ids contain no slash, so names of two lists never collide. */
export function scopeOf({ teamId, kind, parentId }: { teamId: string; kind: string; parentId?: string | undefined }): string {
  return `${teamId}/${kind}/${parentId ?? ""}`;
}

/** How long a list goes on after a removed record: longer than a client takes for a page whose objects it deletes one by one. */
const PLACE_MS = 3_600_000;

/** Where a record is in its list, or was. */
export type ListPlace = Pick<TeamRecord, "scope" | "sequence" | "id">;

/** The id of the place of a removed record. It contains slashes, so it is no id of an edge's record. */
export function placeId(scope: string, id: string): string {
  return `place/${scope}/${id}`;
}

/** The record that remembers where a removed one was, until it expires. */
export function placeOf(removed: TeamRecord, now: number): TeamRecord {
  const { teamId, organizationId, keyId, scope, sequence, id } = removed;
  return {
    ...{ id: placeId(scope, id), kind: PLACE_KIND, teamId, organizationId, keyId, scope: scopeOf({ teamId, kind: PLACE_KIND }) },
    ...{ body: "{}", revision: 1, sequence, createdAt: now, expiresAt: now + PLACE_MS },
  };
}

const PLACE_KIND: RecordKind = "place";

/** A write to an existing record. */
export interface RecordChange {
  readonly body: string;
  readonly expectedRevision?: number | undefined;
  readonly dueAt?: number | undefined;
  readonly claim?: string | undefined;
  readonly expiresAt?: number | undefined;
  /** Leaves due time, claim and expiry as they are. */
  readonly keepWork: boolean;
}

/** The record after the change. Throws RECORD_CHANGED if the expected revision or claim does not match. */
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
  throw new AppError("RECORD_CHANGED", "The record was changed by another request. Read it again and retry.", {
    internal: `${record.id} has revision ${record.revision}, not ${expected}`,
  });
}

export function requireHolder(record: TeamRecord, claim: string): void {
  if (record.claim !== claim) throw lostClaim();
}

/** The record with a claim that expires after `leaseMs`. */
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
  // The record is unclaimed. A writer that names a claim either takes it or has lost it; only the revision distinguishes the two.
  if (claim !== undefined && expectedRevision === undefined) throw lostClaim();
}

function lostClaim(): AppError {
  return new AppError("RECORD_CHANGED", "Another process has claimed this record.");
}
