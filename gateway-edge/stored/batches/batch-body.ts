import type { z } from "zod";
import type { BatchError, BatchObject, newBatch } from "../../schemas/stored/batches.ts";
import { type BatchProgress, NOTHING_DONE, withDone } from "./progress.ts";

/** The stored body of a batch: the API object, and the progress. */
export interface BatchBody {
  readonly batch: BatchObject;
  readonly progress: BatchProgress;
  /** How many parts of the results are stored. */
  readonly parts: number;
  /** The ids of the result files are chosen in advance, so that a repeated finish writes the same files. */
  readonly outputFileId: string;
  readonly errorFileId: string;
  readonly outputExpiresAfterSeconds?: number | undefined;
}

/** The result of one request: a line of the output file, or of the error file. */
export interface LineResult {
  readonly isAnswer: boolean;
  readonly text: string;
}

/** A line of the input that is done. */
export interface FinishedLine {
  readonly line: number;
  /** The offset of the next line. */
  readonly next: number;
  /** Absent for a blank line. */
  readonly result?: LineResult | undefined;
}

const WINDOW_SECONDS = 24 * 3600;

export function newBatchBody(
  asked: z.output<typeof newBatch>,
  stamp: { id: string; nowMs: number; outputFileId: string; errorFileId: string },
): BatchBody {
  const createdAt = secondsOf(stamp.nowMs);
  const none = { in_progress_at: null, finalizing_at: null, completed_at: null, failed_at: null, expired_at: null };
  return {
    batch: {
      ...{ id: stamp.id, object: "batch", endpoint: asked.endpoint, errors: null, input_file_id: asked.input_file_id },
      ...{ completion_window: asked.completion_window, status: "validating", output_file_id: null, error_file_id: null },
      ...{ created_at: createdAt, expires_at: createdAt + WINDOW_SECONDS, ...none, cancelling_at: null, cancelled_at: null },
      ...{ request_counts: { total: 0, completed: 0, failed: 0 }, metadata: asked.metadata ?? null },
    },
    progress: NOTHING_DONE,
    parts: 0,
    outputFileId: stamp.outputFileId,
    errorFileId: stamp.errorFileId,
    outputExpiresAfterSeconds: asked.output_expires_after?.seconds,
  };
}

export function begun(body: BatchBody, total: number, nowMs: number): BatchBody {
  return withBatch(body, { status: "in_progress", in_progress_at: secondsOf(nowMs), request_counts: { total, completed: 0, failed: 0 } });
}

export function refused(body: BatchBody, errors: readonly BatchError[], nowMs: number): BatchBody {
  return withBatch(body, { status: "failed", failed_at: secondsOf(nowMs), errors: { object: "list", data: [...errors] } });
}

export function cancelling(body: BatchBody, nowMs: number): BatchBody {
  return withBatch(body, { status: "cancelling", cancelling_at: secondsOf(nowMs) });
}

export function finalizing(body: BatchBody, nowMs: number): BatchBody {
  return withBatch(body, { status: "finalizing", finalizing_at: secondsOf(nowMs) });
}

/** The final states of a batch that was started. */
export type BatchEnd = "completed" | "expired" | "cancelled" | "failed";

export function ended(body: BatchBody, end: BatchEnd, nowMs: number): BatchBody {
  return withBatch(body, { status: end, [`${end}_at`]: secondsOf(nowMs) });
}

/** The batch after more finished lines, with one more part for their results. */
export function advanced(body: BatchBody, lines: readonly FinishedLine[]): BatchBody {
  const { total, completed, failed } = body.batch.request_counts;
  const answers = lines.filter(({ result }) => result?.isAnswer).length;
  const errors = lines.filter(({ result }) => result && !result.isAnswer).length;
  const progress = lines.reduce(withDone, body.progress);
  const counts = { total, completed: completed + answers, failed: failed + errors };
  return withBatch({ ...body, progress, parts: body.parts + 1 }, { request_counts: counts });
}

export function isOver({ batch }: BatchBody): boolean {
  return ["completed", "failed", "expired", "cancelled"].includes(batch.status);
}

export function hasExpired({ batch }: BatchBody, nowMs: number): boolean {
  return batch.expires_at !== null && nowMs >= batch.expires_at * 1000;
}

export function withBatch(body: BatchBody, changes: Partial<BatchObject>): BatchBody {
  return { ...body, batch: { ...body.batch, ...changes } };
}

function secondsOf(nowMs: number): number {
  return Math.floor(nowMs / 1000);
}
