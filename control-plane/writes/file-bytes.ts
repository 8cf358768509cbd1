import { AppError } from "../../common/errors.ts";
import type { Reader, Transaction } from "../stores/store.ts";

/**
 * Changes the sum of an organization's bytes in the transaction that changes the row of a content, so that the sum is exact at any time.
 * With a limit, growth beyond it is refused.
 */
export async function countBytes(
  tx: Transaction,
  { teamId, before, after }: { teamId: string; before: number; after: number },
  limit = Number.POSITIVE_INFINITY,
): Promise<void> {
  const organizationId = await organizationOf(tx, teamId);
  // The sum of an organization without one is read before its row changes.
  const used = await fileBytes(tx, organizationId);
  if (after > before && used - before + after > limit) throw storageFull({ used: used - before, limit });
  await tx.put("storage", { ...(await tx.get("storage", organizationId)), id: organizationId, fileBytes: used - before + after });
}

/** Changes the sum of an organization's counted records in the transaction that changes them. With a limit, growth beyond it is refused. */
export async function countRecordBytes(
  tx: Transaction,
  { teamId, change }: { teamId: string; change: number },
  limit?: number,
): Promise<void> {
  const organizationId = await organizationOf(tx, teamId);
  const known = await tx.get("storage", organizationId);
  const used = known?.recordBytes ?? 0;
  if (limit !== undefined && change > 0 && used + change > limit) throw recordsFull({ used, limit });
  const fileSum = known?.fileBytes ?? (await fileBytes(tx, organizationId));
  // A control plane of the release before writes the row without this sum: what was counted earlier may be removed from less.
  await tx.put("storage", { id: organizationId, fileBytes: fileSum, recordBytes: Math.max(0, used + change) });
}

/** The bytes of all files of an organization, of batches' results and of uploads that are under way. */
export async function fileBytes(reader: Reader, organizationId: string): Promise<number> {
  const known = await reader.get("storage", organizationId);
  if (known) return known.fileBytes;
  // An organization whose files are older than the sum: they are added up once.
  let sum = 0;
  for (const teamId of [organizationId, ...(await teamsOf(reader, organizationId))]) {
    // "0" follows the slash between team and record.
    for await (const { bytes } of reader.scan("contents", { from: `${teamId}/`, before: `${teamId}0` })) sum += bytes;
  }
  return sum;
}

/** Records of a team that is not stored count for the team itself. */
export async function organizationOf(reader: Reader, teamId: string): Promise<string> {
  return (await reader.get("teams", teamId))?.organizationId ?? teamId;
}

async function teamsOf(reader: Reader, organizationId: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of reader.scan("teams", { index: "byOrganization", equals: [organizationId] })) ids.push(id);
  return ids;
}

/** `param` distinguishes it from a single record that is too large. */
function recordsFull({ used, limit }: { used: number; limit: number }): AppError {
  return new AppError(
    "PAYLOAD_TOO_LARGE",
    `Your organization has ${used} bytes of stored responses, conversations and prompts, and this one would exceed the limit of ${limit} (RECORDS_BYTES_MAX_PER_ORGANIZATION). Send responses with store: false, delete what you do not need (DELETE /v1/responses/{response_id}), or ask the operator for more.`,
    { param: "store" },
  );
}

function storageFull({ used, limit }: { used: number; limit: number }): AppError {
  return new AppError(
    "PAYLOAD_TOO_LARGE",
    `Your organization has ${used} bytes of files, and this one would exceed the limit of ${limit} (FILES_BYTES_MAX_PER_ORGANIZATION). Delete files that you do not need (DELETE /v1/files/{file_id}), or ask the operator for more.`,
  );
}
