import { AppError } from "../../../common/errors.ts";
import { fileWrite } from "../files/team-file.ts";
import { ownerOf } from "../records/own-record.ts";
import type { Owner, RecordStore, RecordWrite } from "../records/records.ts";
import { type BatchBody, type BatchEnd, ended, isOver, withBatch } from "./batch-body.ts";
import type { LeasedBatch } from "./leased-batch.ts";
import { type BatchPart, partId } from "./result-log.ts";
import type { BatchRunDeps } from "./run-lines.ts";

const REMOVALS_AT_ONCE = 200;

/**
 * Writes the result files, then ends the batch and publishes the files in one commit. A repetition after a crash writes the same files
 * under the same ids; they are not visible before the commit.
 */
export async function finishBatch(
  deps: Pick<BatchRunDeps, "records" | "clock" | "logger">,
  { leased, end, owner, isWithoutFiles = false }: { leased: LeasedBatch; end: BatchEnd; owner: Owner; isWithoutFiles?: boolean },
): Promise<void> {
  const counts = leased.body.batch.request_counts;
  const { completed, failed } = isWithoutFiles ? { completed: 0, failed: 0 } : counts;
  const files: RecordWrite[] = [];
  if (completed > 0) files.push(await resultFile(deps, leased, { isAnswer: true }));
  if (failed > 0) files.push(await resultFile(deps, leased, { isAnswer: false }));
  const fileIds = {
    output_file_id: completed > 0 ? leased.body.outputFileId : null,
    error_file_id: failed > 0 ? leased.body.errorFileId : null,
  };
  const change = (body: BatchBody) =>
    withBatch(ended(body, end, deps.clock.now()), { ...fileIds, ...(end === "failed" ? {} : { errors: null }) });
  await leased.write(change, { more: files, isDone: isOver, isEnd: true });
  await removeParts(deps, leased, owner).catch((error: unknown) => {
    deps.logger.warn({ batch: leased.id, error: String(error) }, "parts of an ended batch could not be removed; they expire");
  });
}

async function resultFile(
  { records, clock }: Pick<BatchRunDeps, "records" | "clock">,
  leased: LeasedBatch,
  { isAnswer }: { isAnswer: boolean },
): Promise<RecordWrite> {
  const { outputFileId, errorFileId, outputExpiresAfterSeconds } = leased.body;
  const id = isAnswer ? outputFileId : errorFileId;
  const { bytes } = await records.putContent(leased.teamId, id, resultLines(records, leased, isAnswer));
  const filename = `${leased.id}_${isAnswer ? "output" : "error"}.jsonl`;
  return fileWrite({
    id,
    filename,
    purpose: "batch_output",
    bytes,
    createdAtMs: clock.now(),
    expiresAfterSeconds: outputExpiresAfterSeconds,
  });
}

/** Reads part by part, so that only one is in memory. */
async function* resultLines(records: RecordStore, leased: LeasedBatch, isAnswer: boolean): AsyncGenerator<Uint8Array> {
  const { body, teamId } = leased;
  for (let number = 0; number < body.parts; number++) {
    leased.work.signal.throwIfAborted();
    const id = partId(leased.id, number);
    const part = (await records.get<BatchPart>(teamId, "batch_part", id))?.body;
    if (!part) throw new AppError("SERVER_ERROR", "A part of the results is missing.", { internal: id });
    if ("contentIsAnswer" in part) {
      if (part.contentIsAnswer === isAnswer) yield* contentLine(records, teamId, id);
      continue;
    }
    const lines = part.lines.filter((line) => line.isAnswer === isAnswer);
    if (lines.length > 0) yield Buffer.from(lines.map(({ text }) => `${text}\n`).join(""));
  }
}

async function* contentLine(records: RecordStore, teamId: string, id: string): AsyncGenerator<Uint8Array> {
  const content = await records.getContent(teamId, id);
  if (!content) throw new AppError("SERVER_ERROR", "A part of the results is missing.", { internal: `content of ${id}` });
  yield* content;
  yield Buffer.from("\n");
}

async function removeParts({ records }: Pick<BatchRunDeps, "records">, leased: LeasedBatch, owner: Owner): Promise<void> {
  const { parts } = leased.body;
  for (let first = 0; first < parts; first += REMOVALS_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(REMOVALS_AT_ONCE, parts - first) }, (_, index) => first + index);
    await records.commit(
      ownerOf(owner),
      numbers.map((number) => ({ type: "remove", kind: "batch_part", id: partId(leased.id, number) })),
    );
  }
}
