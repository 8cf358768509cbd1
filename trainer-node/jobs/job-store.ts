import type { Clock } from "../../common/clock.ts";
import { newId } from "../../common/ids.ts";
import type { Random } from "../../common/random.ts";
import type { BodyType } from "../operations/call-body.ts";
import type { Operation } from "../pool/messages.ts";
import type { ComputeAnswer } from "../pool/pool.ts";

/** Where a job is. What it ended with is kept for a while, then forgotten. */
export type JobState =
  | { readonly status: "queued" | "running" | "cancelled" | "expired" }
  | { readonly status: "succeeded"; readonly answer: ComputeAnswer; readonly type: BodyType }
  | { readonly status: "failed"; readonly error: object; readonly httpStatus: number };

export interface Job {
  readonly id: string;
  /** The tenant that asked for it; empty where nobody was named. */
  readonly owner: string;
  readonly operation: Operation;
  readonly createdAt: string;
  readonly cancel: AbortController;
  state: JobState;
  progress: object | undefined;
  finishedMs: number | undefined;
  readonly listeners: Set<() => void>;
}

export interface JobStore {
  /** Undefined when as many jobs as may be are still at work. */
  create(operation: Operation, owner: string): Job | undefined;
  find(id: string): Job | undefined;
  update(job: Job, change: { state?: JobState; progress?: object }): void;
  remove(job: Job): void;
  counts(): { active: number; finished: number };
}

export interface JobLimits {
  readonly jobsMax: number;
  /** Bytes of answers kept; the oldest are forgotten first. */
  readonly answerBytesMax: number;
  readonly keepMs: number;
}

export function createJobStore(options: { clock: Clock; random: Random; limits: JobLimits }): JobStore {
  const { clock, random, limits } = options;
  const jobs = new Map<string, Job>();
  const isActive = ({ state }: Job) => state.status === "queued" || state.status === "running";
  const finished = () => [...jobs.values()].filter((job) => !isActive(job));

  const forgetOld = (): void => {
    for (const job of finished()) if (clock.monotonicMs() - (job.finishedMs ?? 0) > limits.keepMs) jobs.delete(job.id);
  };
  /** Answers beyond the limit are let go of, oldest first; the job itself stays and says that it expired. */
  const forgetAnswers = (): void => {
    let bytes = 0;
    for (const job of finished().toSorted((left, right) => (right.finishedMs ?? 0) - (left.finishedMs ?? 0))) {
      if (job.state.status !== "succeeded") continue;
      bytes += job.state.answer.body.byteLength;
      if (bytes > limits.answerBytesMax) job.state = { status: "expired" };
    }
  };
  return {
    create: (operation, owner) => {
      forgetOld();
      if (jobs.size >= limits.jobsMax) {
        const [oldest] = finished();
        if (!oldest) return undefined;
        jobs.delete(oldest.id);
      }
      const job: Job = {
        id: newId("job", { clock, random }),
        owner,
        operation,
        createdAt: new Date(clock.now()).toISOString(),
        cancel: new AbortController(),
        state: { status: "queued" },
        progress: undefined,
        finishedMs: undefined,
        listeners: new Set(),
      };
      jobs.set(job.id, job);
      return job;
    },
    find: (id) => {
      forgetOld();
      return jobs.get(id);
    },
    update: (job, { state, progress }) => {
      // A job ends once: what comes after a cancel is the echo of it.
      if (!isActive(job)) return;
      if (progress) {
        job.progress = progress;
        if (job.state.status === "queued") job.state = { status: "running" };
      }
      if (state) job.state = state;
      if (!isActive(job)) {
        job.finishedMs = clock.monotonicMs();
        forgetAnswers();
      }
      for (const listener of job.listeners) listener();
    },
    remove: (job) => void jobs.delete(job.id),
    counts: () => ({ active: jobs.size - finished().length, finished: finished().length }),
  };
}

/** A job as its owner sees it; `path` is where he finds it. */
export function describeJob(job: Job, path: string): object {
  const { id, operation, createdAt, state, progress } = job;
  return {
    id,
    operation,
    status: state.status,
    created_at: createdAt,
    ...(progress && { progress }),
    ...(state.status === "succeeded" && { result_url: `${path}/result`, result_bytes: state.answer.body.byteLength }),
    ...(state.status === "failed" && { error: state.error }),
  };
}
