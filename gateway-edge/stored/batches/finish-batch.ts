import { AppError } from "../../../common/errors.ts";
import { fileWrite } from "../files/team-file.ts";
import { ownerOf } from "../records/own-record.ts";
import type { Owner, RecordStore, RecordWrite } from "../records/records.ts";
import { type BatchBody, type BatchEnd, ended, isOver, withBatch } from "./batch-body.ts";
import type { BatchHold } from "./batch-hold.ts";
import { type BatchPart, partId } from "./result-log.ts";
import type { RunDeps } from "./run-lines.ts";

const REMOVALS_AT_ONCE = 200;

/**
 * Makes files of the results, then ends the batch with them in one commit. What is done again after a crash writes the same files anew
 * under the same names; nobody sees them before the commit.
 */
export async function finishBatch(
  deps: Pick<RunDeps, "records" | "clock" | "logger">,
  { hold, end, owner }: { hold: BatchHold; end: BatchEnd; owner: Owner },
): Promise<void> {
  const { completed, failed } = hold.body.batch.request_counts;
  const files: RecordWrite[] = [];
  if (completed > 0) files.push(await resultFile(deps, hold, { isAnswer: true }));
  if (failed > 0) files.push(await resultFile(deps, hold, { isAnswer: false }));
  const fileIds = {
    output_file_id: completed > 0 ? hold.body.outputFileId : null,
    error_file_id: failed > 0 ? hold.body.errorFileId : null,
  };
  const change = (body: BatchBody) => withBatch(ended(body, end, deps.clock.now()), fileIds);
  await hold.write(change, { more: files, isDone: isOver, isEnd: true });
  await removeParts(deps, hold, owner).catch((error: unknown) => {
    deps.logger.warn({ batch: hold.id, error: String(error) }, "parts of a batch that has ended stay for now");
  });
}

async function resultFile(
  { records, clock }: Pick<RunDeps, "records" | "clock">,
  hold: BatchHold,
  { isAnswer }: { isAnswer: boolean },
): Promise<RecordWrite> {
  const { outputFileId, errorFileId, outputExpiresAfterSeconds } = hold.body;
  const id = isAnswer ? outputFileId : errorFileId;
  const { bytes } = await records.putContent(hold.teamId, id, resultLines(records, hold, isAnswer));
  const filename = `${hold.id}_${isAnswer ? "output" : "error"}.jsonl`;
  return fileWrite({
    id,
    filename,
    purpose: "batch_output",
    bytes,
    createdAtMs: clock.now(),
    expiresAfterSeconds: outputExpiresAfterSeconds,
  });
}

/** Part by part: never more than one of them in memory. */
async function* resultLines(records: RecordStore, hold: BatchHold, isAnswer: boolean): AsyncGenerator<Uint8Array> {
  const { body, teamId } = hold;
  for (let number = 0; number < body.parts; number++) {
    hold.work.signal.throwIfAborted();
    const id = partId(hold.id, number);
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

async function removeParts({ records }: Pick<RunDeps, "records">, hold: BatchHold, owner: Owner): Promise<void> {
  const { parts } = hold.body;
  for (let first = 0; first < parts; first += REMOVALS_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(REMOVALS_AT_ONCE, parts - first) }, (_, index) => first + index);
    await records.commit(
      ownerOf(owner),
      numbers.map((number) => ({ type: "remove", kind: "batch_part", id: partId(hold.id, number) })),
    );
  }
}
