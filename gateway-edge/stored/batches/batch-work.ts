import { asAppError } from "../../../common/errors.ts";
import type { RecordOf } from "../records/records.ts";
import type { Handler } from "../records/work.ts";
import { type BatchBody, type BatchEnd, begun, finalizing, hasExpired, isOver, refused, withBatch } from "./batch-body.ts";
import { BatchHold } from "./batch-hold.ts";
import { checkInput } from "./check-input.ts";
import { finishBatch } from "./finish-batch.ts";
import { inputLines } from "./input-lines.ts";
import { NOTHING_DONE } from "./progress.ts";
import { type RunDeps, runLines } from "./run-lines.ts";

/** What lines that are under way get when a batch is cancelled: what is nearly answered is worth having. */
const CANCEL_GRACE_MS = 3000;

const EXPIRED = { code: "batch_expired", message: "This request could not be executed before the completion window expired." };

/** The work on a batch, from wherever it stands: check the input, make the requests, keep the results as files. */
export function batchHandler(deps: RunDeps): Handler {
  return async (claimed, work) => {
    const hold = new BatchHold(deps.records, claimed.record as RecordOf<BatchBody>, work);
    if (hold.body.batch.status === "validating") await validate(deps, hold);
    if (isOver(hold.body)) return;
    const end = hold.body.batch.status === "finalizing" ? "completed" : await makeRequests(deps, hold);
    work.signal.throwIfAborted();
    if (end === "completed") {
      const isFinal = ({ batch }: BatchBody) => batch.status === "finalizing";
      await hold.write((body) => finalizing(body, deps.clock.now()), { isDone: isFinal });
    }
    await finishBatch(deps, { hold, end, owner: claimed.record });
  };
}

async function validate({ records, clock, lineBytesMax }: RunDeps, hold: BatchHold): Promise<void> {
  const { endpoint, input_file_id: fileId } = hold.body.batch;
  const lines = inputLines(records, { teamId: hold.teamId, fileId, lineBytesMax }, NOTHING_DONE);
  const { total, errors } = await checkInput(lines, endpoint);
  hold.work.signal.throwIfAborted();
  const isChecked = ({ batch }: BatchBody) => batch.status !== "validating";
  const change = (body: BatchBody) => {
    // Cancelled meanwhile: that stands.
    if (isChecked(body)) return body;
    return errors.length > 0 ? refused(body, errors, clock.now()) : begun(body, total, clock.now());
  };
  const isEnd = errors.length > 0;
  await hold.write(change, { isDone: isChecked, isEnd });
}

/** Makes what is left, until all is done, the batch is cancelled, or its time is over. */
async function makeRequests(deps: RunDeps, hold: BatchHold): Promise<BatchEnd> {
  const stop = watchForStop(deps, hold);
  try {
    if (!stop.signal.aborted) await runLines(deps, { hold, signal: AbortSignal.any([stop.signal, hold.work.signal]) });
    hold.work.signal.throwIfAborted();
    if (hold.body.batch.status === "cancelling") return "cancelled";
    if (!hasExpired(hold.body, deps.clock.now())) return "completed";
    await runLines(deps, { hold, signal: hold.work.signal, unmade: EXPIRED });
    return "expired";
  } catch (thrown) {
    // Somebody deleted the input: what is left cannot be known.
    if (asAppError(thrown).code !== "NOT_FOUND" || hold.work.signal.aborted) throw thrown;
    await hold.write(inputGone, { isDone: ({ batch }) => batch.errors !== null });
    return "failed";
  } finally {
    stop.close();
  }
}

function inputGone(body: BatchBody): BatchBody {
  const error = { line: null, code: "invalid_file", message: "The input file was deleted.", param: "input_file_id" };
  return withBatch(body, { errors: { object: "list", data: [error] } });
}

/** Aborts when the batch was cancelled, some seconds later, or has expired. */
function watchForStop({ clock }: RunDeps, hold: BatchHold): { signal: AbortSignal; close(): void } {
  const stop = new AbortController();
  const end = () => stop.abort();
  const timers: (() => void)[] = [];
  hold.work.onChange((record) => {
    const wasCancelled = hold.body.batch.status === "cancelling";
    hold.see(record as RecordOf<BatchBody>);
    if (!wasCancelled && hold.body.batch.status === "cancelling") timers.push(clock.after(CANCEL_GRACE_MS, end));
  });
  const { expires_at: expiresAt, status } = hold.body.batch;
  if (status === "cancelling" || hasExpired(hold.body, clock.now())) end();
  // A timer takes 24.8 days at most, and a batch one.
  else if (expiresAt !== null) timers.push(clock.after(expiresAt * 1000 - clock.now(), end));
  return { signal: stop.signal, close: () => timers.forEach((cancel) => void cancel()) };
}
