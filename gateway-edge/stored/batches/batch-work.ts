import { asAppError } from "../../../common/errors.ts";
import type { RecordOf } from "../records/records.ts";
import type { WorkHandler } from "../records/work.ts";
import { type BatchBody, type BatchEnd, begun, finalizing, hasExpired, isOver, refused, withBatch } from "./batch-body.ts";
import { checkInput } from "./check-input.ts";
import { finishBatch } from "./finish-batch.ts";
import { inputLines } from "./input-lines.ts";
import { LeasedBatch } from "./leased-batch.ts";
import { NOTHING_DONE } from "./progress.ts";
import { type BatchRunDeps, runLines } from "./run-lines.ts";

/** How long running requests of a canceled batch may continue, because a nearly finished answer is worth having. */
const CANCEL_GRACE_MS = 3000;

const EXPIRED = { code: "batch_expired", message: "This request could not be executed before the completion window expired." };

/** Executes a batch from its stored progress on: checks the input, makes the requests, stores the results as files. */
export function batchHandler(deps: BatchRunDeps): WorkHandler {
  return async (claimed, work) => {
    const leased = new LeasedBatch(deps.records, claimed.record as RecordOf<BatchBody>, work);
    if (leased.body.batch.status === "validating") await validate(deps, leased);
    if (isOver(leased.body)) return;
    const end = leased.body.batch.status === "finalizing" ? "completed" : await makeRequests(deps, leased);
    work.signal.throwIfAborted();
    if (end === "completed") {
      const isFinal = ({ batch }: BatchBody) => batch.status === "finalizing";
      await leased.write((body) => finalizing(body, deps.clock.now()), { isDone: isFinal });
    }
    const finish = { leased, end, owner: claimed.record };
    await finishBatch(deps, finish).catch((thrown: unknown) => keepForRoom(deps, finish, thrown));
  };
}

/**
 * The results do not fit into the organization's files. They were paid for, so they are kept until the batch expires: every attempt to
 * finish it, once per lease, can succeed after files were deleted. The batch says so meanwhile.
 */
async function keepForRoom(deps: BatchRunDeps, { leased, owner }: Parameters<typeof finishBatch>[1], thrown: unknown): Promise<void> {
  const { code, message } = asAppError(thrown);
  if (code !== "PAYLOAD_TOO_LARGE") throw thrown;
  const data = [{ line: null, code: "storage_limit_exceeded", message, param: null }];
  await leased.write((body) => withBatch(body, { errors: { object: "list", data } }), { isDone: ({ batch }) => batch.errors !== null });
  if (!hasExpired(leased.body, deps.clock.now())) throw thrown;
  await finishBatch(deps, { leased, end: "failed", owner, isWithoutFiles: true });
}

async function validate({ records, clock, lineBytesMax }: BatchRunDeps, leased: LeasedBatch): Promise<void> {
  const { endpoint, input_file_id: fileId } = leased.body.batch;
  const lines = inputLines(records, { teamId: leased.teamId, fileId, lineBytesMax }, NOTHING_DONE);
  const { total, errors } = await checkInput(lines, endpoint);
  leased.work.signal.throwIfAborted();
  const isChecked = ({ batch }: BatchBody) => batch.status !== "validating";
  const change = (body: BatchBody) => {
    // Canceled meanwhile: the cancellation stays.
    if (isChecked(body)) return body;
    return errors.length > 0 ? refused(body, errors, clock.now()) : begun(body, total, clock.now());
  };
  const isEnd = errors.length > 0;
  await leased.write(change, { isDone: isChecked, isEnd });
}

/** Makes the remaining requests until all are done, the batch is canceled, or it expires. */
async function makeRequests(deps: BatchRunDeps, leased: LeasedBatch): Promise<BatchEnd> {
  const stop = watchForStop(deps, leased);
  try {
    if (!stop.signal.aborted) await runLines(deps, { leased, signal: AbortSignal.any([stop.signal, leased.work.signal]) });
    leased.work.signal.throwIfAborted();
    if (leased.body.batch.status === "cancelling") return "cancelled";
    if (!hasExpired(leased.body, deps.clock.now())) return "completed";
    await runLines(deps, { leased, signal: leased.work.signal, skipped: EXPIRED });
    return "expired";
  } catch (thrown) {
    // The input file was deleted: the remaining requests are unknown.
    if (asAppError(thrown).code !== "NOT_FOUND" || leased.work.signal.aborted) throw thrown;
    await leased.write(inputGone, { isDone: ({ batch }) => batch.errors !== null });
    return "failed";
  } finally {
    stop.close();
  }
}

function inputGone(body: BatchBody): BatchBody {
  const error = { line: null, code: "invalid_file", message: "The input file was deleted.", param: "input_file_id" };
  return withBatch(body, { errors: { object: "list", data: [error] } });
}

/** Aborts some seconds after a cancellation, or when the batch expires. */
function watchForStop({ clock }: BatchRunDeps, leased: LeasedBatch): { signal: AbortSignal; close(): void } {
  const stop = new AbortController();
  const end = () => stop.abort();
  const timers: (() => void)[] = [];
  leased.work.onChange((record) => {
    const wasCancelled = leased.body.batch.status === "cancelling";
    leased.update(record as RecordOf<BatchBody>);
    if (!wasCancelled && leased.body.batch.status === "cancelling") timers.push(clock.after(CANCEL_GRACE_MS, end));
  });
  const { expires_at: expiresAt, status } = leased.body.batch;
  if (status === "cancelling" || hasExpired(leased.body, clock.now())) end();
  // A timer can run for at most 24.8 days; a batch expires after one.
  else if (expiresAt !== null) timers.push(clock.after(expiresAt * 1000 - clock.now(), end));
  return { signal: stop.signal, close: () => timers.forEach((cancel) => void cancel()) };
}
