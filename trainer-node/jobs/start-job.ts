import { MessageChannel } from "node:worker_threads";
import type { TrainerDeps } from "../deps.ts";
import { asTrainerError, TrainerError } from "../errors.ts";
import type { BodyType } from "../operations/call-body.ts";
import type { ComputeTask } from "../pool/messages.ts";

const BUSY_RETRY_SECONDS = 5;
/** How long the caller of a job waits for it to start. */
const START_MS_MAX = 1000;

interface JobInput {
  readonly task: Extract<ComputeTask, { type: "call" }>;
  readonly answerType: BodyType;
  readonly owner: string;
  /** Whether the caller gets the messages of functions' exceptions. */
  readonly isOwner: boolean;
  /** Releases the body's share of the byte budget. */
  readonly release: () => void;
}

/**
 * Starts an asynchronous call. Its progress and result go to the job store. `refused` is the caller's error that ended it before it started
 * to work; then there is no job.
 */
export function startJob(
  { task, answerType, owner, isOwner, release }: JobInput,
  deps: Pick<TrainerDeps, "pool" | "jobs" | "logger" | "clock">,
) {
  const { pool, jobs, logger, clock } = deps;
  const job = jobs?.create(task.operation, owner);
  if (!jobs || !job) {
    release();
    throw new TrainerError("BUSY", "The node has reached its limit of active jobs (TRAINER_JOBS_MAX). Try again later.", {
      retryAfterSeconds: BUSY_RETRY_SECONDS,
    });
  }
  const settled = new AbortController();
  const { promise: refused, resolve: decide } = Promise.withResolvers<TrainerError | undefined>();
  const stopWaiting = clock.after(START_MS_MAX, () => decide(undefined));
  const { port1: listener, port2: sender } = new MessageChannel();
  listener.on("message", (progress: object) => {
    decide(undefined);
    jobs.update(job, { progress });
  });
  listener.unref();
  void pool
    .run({ ...task, progress: sender }, { signal: job.cancel.signal })
    .then(
      (answer) => jobs.update(job, { state: { status: "succeeded", answer, type: answerType } }),
      (thrown: unknown) => {
        const error = asTrainerError(thrown, "SERVER_ERROR");
        if (error.status >= 500)
          logger.warn({ job: job.id, code: error.code, message: error.message, internal: error.internal }, "job failed");
        jobs.update(job, { state: { status: "failed", error: error.shownTo({ isOwner }), httpStatus: error.status } });
        decide(error.status < 500 ? error : undefined);
      },
    )
    .finally(() => {
      settled.abort();
      decide(undefined);
      stopWaiting();
      listener.close();
      release();
    });
  const withoutJob = refused.then((error) => {
    if (error) jobs.remove(job);
    return error;
  });
  return { job, settled: settled.signal, refused: withoutJob };
}
