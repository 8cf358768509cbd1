import { AppError } from "../../common/errors.ts";
import { recordKindsWith } from "../../common/record-kinds.ts";
import type { TeamRecord } from "../domain/records.ts";
import { changeRecord, claimRecord, placeOf, type RecordChange, requireHolder, requireRevision, scopeOf } from "../domain/team-records.ts";
import { collect } from "../stores/page.ts";
import { type Scope, storageScope, teamRecordsScope } from "../stores/scopes.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { nextRecordNumber } from "./counters.ts";
import { countBytes, countRecordBytes, organizationOf } from "./file-bytes.ts";

/** One write of a commit to a team's records. */
export type TeamWrite =
  | { readonly type: "create"; readonly record: Omit<TeamRecord, "teamId" | "scope" | "revision" | "sequence"> }
  | { readonly type: "put"; readonly kind: string; readonly id: string; readonly change: RecordChange }
  | {
      readonly type: "remove";
      readonly kind: string;
      readonly id: string;
      readonly expectedRevision?: number | undefined;
      readonly withChildren: boolean;
      /** Whether lists go on after it: not if its list goes too. */
      readonly keepsPlace: boolean;
    }
  | { readonly type: "held"; readonly kind: string; readonly id: string; readonly claim: string };

/** Kinds whose bodies count for their organization. */
const COUNTED: ReadonlySet<string> = new Set(recordKindsWith("isCounted"));
const PAGED: ReadonlySet<string> = new Set(recordKindsWith("isPaged"));

/** The scopes of a commit: the sum of its organization is one only if the commit changes it. */
export async function commitScopes(store: Store, teamId: string, writes: readonly TeamWrite[]): Promise<readonly Scope[]> {
  const isCounted = writes.some((write) => write.type !== "held" && COUNTED.has(write.type === "create" ? write.record.kind : write.kind));
  return isCounted ? await contentScopes(store, teamId) : [teamRecordsScope(teamId)];
}

/**
 * Applies all writes or, by throwing, none. Returns the written records and everything that was removed. Beyond `limit` bytes of counted
 * records, new ones are refused, unless the commit has the result of claimed work, which is paid for.
 */
export async function commitRecords(
  tx: Transaction,
  { teamId, writes, limit }: { teamId: string; writes: readonly TeamWrite[]; limit?: number },
  now: number,
): Promise<{ records: TeamRecord[]; removed: TeamRecord[] }> {
  const records: TeamRecord[] = [];
  const removed: TeamRecord[] = [];
  let change = 0;
  for (const write of writes) {
    const done = await applyWrite(tx, { teamId, write }, now);
    change += done.change;
    records.push(done.record);
    removed.push(...(done.removed ?? []));
  }
  const isWork = writes.some((write) => write.type === "put" && write.change.claim !== undefined);
  if (change !== 0) await countRecordBytes(tx, { teamId, change }, isWork ? undefined : limit);
  await disownContents(tx, removed, now);
  return { records, removed };
}

/** One write: the record after it, and by how much the counted bytes change. */
async function applyWrite(
  tx: Transaction,
  { teamId, write }: { teamId: string; write: TeamWrite },
  now: number,
): Promise<{ record: TeamRecord; change: number; removed?: readonly TeamRecord[] }> {
  if (write.type === "create") {
    const created = await createRecord(tx, teamId, write.record);
    return { record: created, change: sumOf([created]) };
  }
  const record = await requireRecord(tx, teamId, write);
  if (write.type === "held") {
    requireHolder(record, write.claim);
    return { record, change: 0 };
  }
  if (write.type === "put") {
    const changed = counted(changeRecord(record, write.change, now));
    await tx.put("records", changed);
    return { record: changed, change: sumOf([changed]) - sumOf([record]) };
  }
  requireRevision(record, write.expectedRevision);
  const removed = await removeRecord(tx, record, { withChildren: write.withChildren });
  if (write.keepsPlace && PAGED.has(record.kind)) await tx.put("records", placeOf(record, now));
  return { record, removed, change: -sumOf(removed) };
}

function sumOf(records: readonly TeamRecord[]): number {
  return records.reduce((sum, { countedBytes = 0 }) => sum + countedBytes, 0);
}

/** The record with its bytes, if its kind counts. */
function counted<Given extends Pick<TeamRecord, "kind" | "body">>(record: Given): Given & Pick<TeamRecord, "countedBytes"> {
  return COUNTED.has(record.kind) ? { ...record, countedBytes: Buffer.byteLength(record.body) } : record;
}

/** Claims a due record of a kind; returns undefined if it is no longer due. */
export async function claimDue(
  tx: Transaction,
  request: { kind: string; id: string; claim: string; leaseMs: number },
  now: number,
): Promise<TeamRecord | undefined> {
  const record = await tx.get("records", request.id);
  if (record?.kind !== request.kind || record.dueAt === undefined || record.dueAt > now) return undefined;
  const held = claimRecord(record, request, now);
  await tx.put("records", held);
  return held;
}

/** Extends a claim; returns undefined if the claim was lost. */
export async function renewClaim(
  tx: Transaction,
  request: { kind: string; id: string; claim: string; leaseMs: number },
  now: number,
): Promise<TeamRecord | undefined> {
  const record = await tx.get("records", request.id);
  if (!record || record.kind !== request.kind || record.claim !== request.claim) return undefined;
  const held = claimRecord(record, request, now);
  await tx.put("records", held);
  return held;
}

/** Removes expired records, claimed or not. */
export async function removeExpiredRecords(tx: Transaction, ids: readonly string[], now: number): Promise<TeamRecord[]> {
  const removed: TeamRecord[] = [];
  for (const record of await tx.getMany("records", ids)) {
    const isOver = record?.expiresAt !== undefined && record.expiresAt <= now;
    if (record && isOver) removed.push(...(await removeRecord(tx, record, { withChildren: true })));
  }
  for (const [teamId, ofTeam] of Map.groupBy(removed, (record) => record.teamId)) {
    const change = -sumOf(ofTeam);
    if (change !== 0) await countRecordBytes(tx, { teamId, change });
  }
  await disownContents(tx, removed, now);
  return removed;
}

/** The scopes of the row of a content: its bytes count for the organization of its team. */
export async function contentScopes(store: Store, teamId: string): Promise<readonly Scope[]> {
  return [teamRecordsScope(teamId), storageScope(await organizationOf(store, teamId))];
}

/**
 * Writes the row of a content and counts its bytes for the organization, up to a limit. If its record does not exist yet, the row is marked
 * as unowned, in the same transaction.
 */
export async function putContentRow(
  tx: Transaction,
  content: { teamId: string; id: string; bytes: number },
  { now, limit }: { now: number; limit?: number | undefined },
): Promise<void> {
  const record = await tx.get("records", content.id);
  const isOwned = record?.teamId === content.teamId;
  const before = (await tx.get("contents", contentId(content)))?.bytes ?? 0;
  await countBytes(tx, { teamId: content.teamId, before, after: content.bytes }, limit);
  await tx.put("contents", { id: contentId(content), bytes: content.bytes, ...(isOwned ? {} : { unownedAt: now }) });
}

/** Removes the row of a content whose bytes are gone. */
export async function removeContentRow(tx: Transaction, id: string): Promise<void> {
  const content = await tx.get("contents", id);
  if (!content) return;
  await countBytes(tx, { teamId: teamOfContent(id), before: content.bytes, after: 0 });
  await tx.remove("contents", id);
}

export function contentId({ teamId, id }: { teamId: string; id: string }): string {
  return `${teamId}/${id}`;
}

/** The team of a content. */
export function teamOfContent(id: string): string {
  return id.slice(0, id.indexOf("/"));
}

async function createRecord(
  tx: Transaction,
  teamId: string,
  given: Omit<TeamRecord, "teamId" | "scope" | "revision" | "sequence">,
): Promise<TeamRecord> {
  const sequence = await nextRecordNumber(tx, teamId);
  const record = counted({ ...given, teamId, scope: scopeOf({ ...given, teamId }), revision: 1, sequence });
  await tx.insert("records", record);
  const content = await tx.get("contents", contentId(record));
  if (content?.unownedAt !== undefined) await tx.put("contents", { id: content.id, bytes: content.bytes });
  return record;
}

async function requireRecord(tx: Transaction, teamId: string, { kind, id }: { kind: string; id: string }): Promise<TeamRecord> {
  const record = await tx.get("records", id);
  if (!record || record.teamId !== teamId || record.kind !== kind) throw new AppError("NOT_FOUND", `There is no ${kind} ${id}.`);
  return record;
}

async function removeRecord(tx: Transaction, record: TeamRecord, { withChildren }: { withChildren: boolean }): Promise<TeamRecord[]> {
  const removed = [record];
  await tx.remove("records", record.id);
  if (!withChildren) return removed;
  for (const child of await collect(tx.scan("records", { index: "byParent", equals: [record.id] }))) {
    // Parents count only within the team, because edges choose the ids.
    if (child.teamId === record.teamId) removed.push(...(await removeRecord(tx, child, { withChildren })));
  }
  return removed;
}

/** Marks contents of removed records as unowned. They are removed after the commit, or later by a job. */
async function disownContents(tx: Transaction, removed: readonly TeamRecord[], now: number): Promise<void> {
  if (removed.length === 0) return;
  const contents = await tx.getMany("contents", removed.map(contentId));
  for (const content of contents) if (content) await tx.put("contents", { ...content, unownedAt: now });
}
