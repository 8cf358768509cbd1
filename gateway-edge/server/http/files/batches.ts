import type { Clock } from "../../../../common/clock.ts";
import { AppError } from "../../../../common/errors.ts";
import { newId } from "../../../../common/ids.ts";
import type { Random } from "../../../../common/random.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { listAnswer, listQuery, readPage } from "../../../schemas/object-list.ts";
import { type BatchObject, batchList, batchObject, newBatch } from "../../../schemas/stored/batches.ts";
import type { FileObject } from "../../../schemas/stored/files.ts";
import { type BatchBody, cancelling, newBatchBody } from "../../../stored/batches/batch-body.ts";
import { newFileId } from "../../../stored/files/team-file.ts";
import { ownerOf, requireRecord } from "../../../stored/records/own-record.ts";
import type { RecordStore } from "../../../stored/records/records.ts";
import type { Worker } from "../../../stored/records/worker.ts";
import type { AnswerOnce } from "../calls/answer-once.ts";
import { type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";

/** The dependencies of the Batch API's operations. */
export interface BatchesDeps {
  readonly records: RecordStore;
  readonly worker: Pick<Worker, "wake" | "refresh">;
  readonly clock: Clock;
  readonly random: Random;
  readonly bodyBytesMax: number;
  readonly once: AnswerOnce;
}

const ATTEMPTS_MAX = 20;

/** The Batch API: many requests in one file, made in the background. Each is a call like any other, at the same price. */
export function batchesOperations(deps: BatchesDeps): GatewayOperation[] {
  const { records, bodyBytesMax, once } = deps;
  const shared = { tag: "Batches", bodyBytesMax, once };
  return [
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice("batches"),
      summary: "Create a batch",
      body: newBatch,
      answer: batchObject,
      handle: async ({ body, caller }) => {
        await requireInput(deps, caller, body.input_file_id);
        const nowMs = deps.clock.now();
        const stamp = { id: newId("batch", deps), nowMs, outputFileId: newFileId(deps), errorFileId: newFileId(deps) };
        const stored = newBatchBody(body, stamp);
        await records.commit(ownerOf(caller), [
          { type: "create", kind: "batch", id: stamp.id, body: stored, createdAtMs: nowMs, dueAtMs: nowMs },
        ]);
        deps.worker.wake();
        return stored.batch;
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice("batches"),
      summary: "List batches",
      query: listQuery,
      answer: batchList,
      handle: async ({ query, caller }) => {
        const page = await records.list<BatchBody>(caller.teamId, "batch", readPage(query));
        const batches = page.records.map(({ body }) => body.batch);
        return listAnswer(batches, page.hasMore);
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      paths: twice("batches/:batch_id"),
      summary: "Retrieve a batch",
      answer: batchObject,
      handle: async ({ param, caller }) => (await requireBatch(deps, caller, param("batch_id"))).body.batch,
    }),
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice("batches/:batch_id/cancel"),
      summary: "Cancel a batch",
      answer: batchObject,
      handle: ({ param, caller }) => cancelBatch(deps, caller, param("batch_id")),
    }),
  ];
}

async function requireInput({ records }: BatchesDeps, { teamId }: Caller, id: string): Promise<void> {
  const param = "input_file_id";
  const file = await records.get<FileObject>(teamId, "file", id);
  if (!file) throw new AppError("NOT_FOUND", `No file found with id '${id}'.`, { param });
  if (file.body.purpose !== "batch") {
    throw new AppError("INVALID_REQUEST", `File ${id} has the purpose ${file.body.purpose}. Upload it with the purpose batch.`, {
      param,
    });
  }
}

function requireBatch({ records }: BatchesDeps, caller: Caller, id: string) {
  return requireRecord<BatchBody>({ records }, caller, { kind: "batch", id });
}

/** Marks the batch as `cancelling`. The edge that executes it sees that with the next renewal of its claim, and ends it. */
async function cancelBatch(deps: BatchesDeps, caller: Caller, id: string): Promise<BatchObject> {
  for (let attempt = 1; ; attempt++) {
    const { body, revision } = await requireBatch(deps, caller, id);
    const { status } = body.batch;
    if (status === "cancelling" || status === "cancelled") return body.batch;
    if (status !== "validating" && status !== "in_progress") {
      throw new AppError("INVALID_REQUEST", `A batch with the status ${status} cannot be canceled.`);
    }
    const cancelled = cancelling(body, deps.clock.now());
    try {
      const put = { type: "put", kind: "batch", id, body: cancelled, expectedRevision: revision, keepWork: true } as const;
      await deps.records.commit(ownerOf(caller), [put]);
      deps.worker.refresh(id);
      return cancelled.batch;
    } catch (thrown) {
      // The batch's progress is written every second: read it again and decide again.
      if (!(thrown instanceof AppError) || thrown.code !== "RECORD_CHANGED" || attempt === ATTEMPTS_MAX) throw thrown;
    }
  }
}
