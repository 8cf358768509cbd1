import { AppError } from "../../common/errors.ts";
import { recordKindsWith } from "../../common/record-kinds.ts";
import type { ApiKey, TeamRecord } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Transaction } from "../stores/store.ts";
import { countBytes, countRecordBytes } from "./file-bytes.ts";

/** What one transaction can remove. */
const RECORDS_MAX = 2000;
const EXPIRING_KINDS = recordKindsWith("onlyExpires");
const WORK_KINDS = recordKindsWith("isWork");

/**
 * Removes the records of a team that is deleted, and returns the ids of their contents, which are marked as unowned and no longer count for
 * the organization. Refused while background work is not finished. Of records that only expire, those beyond the limit are left to that: no
 * key reads them, because a record is read only for its own team.
 */
export async function removeTeamRecords(tx: Transaction, teamId: string, now: number): Promise<string[]> {
  const records = await lastingRecords(tx, teamId);
  if (records.length > RECORDS_MAX) {
    throw new AppError(
      "VALIDATION_ERROR",
      `The team has more than ${RECORDS_MAX} stored objects (files, responses, assistants, threads). Delete some of them first.`,
    );
  }
  const open = records.filter(({ dueAt }) => dueAt !== undefined);
  if (open.length > 0) throw notFinished("team", open);
  const recordBytes = records.reduce((sum, { countedBytes = 0 }) => sum + countedBytes, 0);
  if (recordBytes > 0) await countRecordBytes(tx, { teamId, change: -recordBytes });
  for (const { id } of records) await tx.remove("records", id);
  await removeExpiring(tx, teamId, RECORDS_MAX - records.length);
  // "0" follows the slash between team and record.
  const contents = await collect(tx.scan("contents", { from: `${teamId}/`, before: `${teamId}0` }));
  for (const content of contents) {
    await countBytes(tx, { teamId, before: content.bytes, after: 0 });
    await tx.put("contents", { ...content, unownedAt: content.unownedAt ?? now });
  }
  return contents.map(({ id }) => id);
}

/** The records of a team without those that only expire, whose kinds are sorted as the index is; at most one more than can be removed. */
async function lastingRecords(reader: Reader, teamId: string): Promise<TeamRecord[]> {
  const records: TeamRecord[] = [];
  let from = `${teamId}/`;
  // "0" follows the slash after a part of a scope.
  for (const before of [...EXPIRING_KINDS.map((kind) => `${teamId}/${kind}/`), `${teamId}0`]) {
    const limit = RECORDS_MAX + 1 - records.length;
    if (limit > 0) records.push(...(await collect(reader.scan("records", { index: "byScope", from, before, limit }))));
    from = `${before.slice(0, -1)}0`;
  }
  return records;
}

async function removeExpiring(tx: Transaction, teamId: string, limit: number): Promise<void> {
  let left = limit;
  for (const kind of EXPIRING_KINDS) {
    if (left === 0) return;
    const range = { index: "byScope", from: `${teamId}/${kind}/`, before: `${teamId}/${kind}0`, limit: left } as const;
    const records = await collect(tx.scan("records", range));
    for (const { id } of records) await tx.remove("records", id);
    left -= records.length;
  }
}

/** Throws while background work of a key in its team is not finished: no edge could continue it once the key is in another team. */
export async function refuseOpenWork(reader: Reader, { id: keyId, teamId }: Pick<ApiKey, "id" | "teamId">): Promise<void> {
  for (const kind of WORK_KINDS) {
    for await (const record of reader.scan("records", { index: "byDue", equals: [kind], from: 0 })) {
      if (record.keyId === keyId && record.teamId === teamId) throw notFinished("key", [record]);
    }
  }
}

function notFinished(whose: "team" | "key", open: readonly TeamRecord[]): AppError {
  const kinds = [...new Set(open.map(({ kind }) => kind))].join(", ");
  return new AppError("VALIDATION_ERROR", `Background work of the ${whose} is not finished (${kinds}). Wait for it, or cancel it.`);
}
