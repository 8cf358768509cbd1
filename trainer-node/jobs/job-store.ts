import type { Clock } from "../../common/clock.ts";
import { newId } from "../../common/ids.ts";
import type { Random } from "../../common/random.ts";
import type { BodyType } from "../operations/call-body.ts";
import type { Operation } from "../pool/messages.ts";
import type { ComputeAnswer } from "../pool/pool.ts";

/** The state of a job. The result of a finished job is stored for a limited time. */
export type JobState =
  | { readonly status: "queued" | "running" | "cancelled" | "expired" }
  | { readonly status: "succeeded"; readonly answer: ComputeAnswer; readonly type: BodyType }
  | { readonly status: "failed"; readonly error: object; readonly httpStatus: number };

/** An asynchronous call. */
export interface Job {
  readonly id: string;
  /** The tenant that created the job; empty if the caller named none. */
  readonly owner: string;
  readonly operation: Operation;
  readonly createdAt: string;
  readonly cancel: AbortController;
  state: JobState;
  progress: object | undefined;
  finishedMs: number | undefined;
  /** The caller has got the result. */
  isFetched: boolean;
  readonly listeners: Set<() => void>;
}

/** The jobs of this node, in memory. */
export interface JobStore {
  /** Undefined if the limit of active jobs is reached. */
  create(operation: Operation, owner: string): Job | undefined;
  find(id: string): Job | undefined;
  update(job: Job, change: { state?: JobState; progress?: object }): void;
  remove(job: Job): void;
  /** Jobs that have not ended. */
  active(): Job[];
  counts(): { active: number; finished: number };
}

/** Limits of a job store. */
export interface JobLimits {
  readonly jobsMax: number;
  /** Most bytes of stored answers. The oldest answers are removed first. */
  readonly answerBytesMax: number;
  readonly keepMs: number;
}

/** Creates a job store in memory. */
export function createJobStore(options: { clock: Clock; random: Random; limits: JobLimits }): JobStore {
  const { clock, random, limits } = options;
  const jobs = new Map<string, Job>();
  const isActive = ({ state }: Job) => state.status === "queued" || state.status === "running";
  const finished = () => [...jobs.values()].filter((job) => !isActive(job));

  const forgetOld = (): void => {
    for (const job of finished()) if (clock.monotonicMs() - (job.finishedMs ?? 0) > limits.keepMs) jobs.delete(job.id);
  };
  /** Removes answers beyond the limit, oldest first. The job stays, with the status "expired". */
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
        isFetched: false,
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
      // A job ends once. A later change, such as the failure that follows a cancellation, is ignored.
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
    active: () => [...jobs.values()].filter(isActive),
    counts: () => ({ active: jobs.size - finished().length, finished: finished().length }),
  };
}

/** The public view of a job. `path` is its URL path. */
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
