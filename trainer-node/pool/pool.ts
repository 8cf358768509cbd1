import { getCompileCacheDir } from "node:module";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import type { Logger } from "../../common/logger.ts";
import { programFile } from "../../common/program-files.ts";
import { exceptionType, TrainerError } from "../errors.ts";
import type { FunctionName } from "../functions/registry.ts";
import type { ComputeResult, ComputeTask, FollowTask, WorkerData } from "./messages.ts";

/** A pool of worker threads. A thread runs one task at a time, and a task that ends its thread affects no other task. */
export interface ComputePool {
  /** Throws BUSY if the queue is full and TIMEOUT if the task exceeds its time. An abort of `signal` ends the work. */
  run(
    task: Extract<ComputeTask, { type: "call" | "secure" | "serve" | "aggregate-blobs" }>,
    options: { signal: AbortSignal },
  ): Promise<ComputeAnswer>;
  /** Settles when every thread has loaded its code and data. Returns the operations with a registered function. */
  warmUp(): Promise<readonly FunctionName[]>;
  load(): { running: number; queued: number; threads: number };
  close(): Promise<void>;
}

/** A pool whose threads may run several tasks at once. */
export interface SharingPool extends ComputePool {
  /**
   * Runs a task on a thread that may run others at the same time (see `tasksPerThread`). It has no time limit, and only closing the pool
   * ends it early.
   */
  share(task: SharedTask): Promise<ComputeAnswer>;
}

/** A task that may share its thread. */
export type SharedTask = Extract<ComputeTask, { type: "call" | "aggregate-blobs" | "expand-blob" }> | FollowTask;

/** The answer of a task. */
export interface ComputeAnswer {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The fields of an answer whose body has no room for them, as JSON. */
  readonly head: string | undefined;
}

/** Options of a pool. */
export interface PoolOptions {
  readonly threads: number;
  readonly queueMax: number;
  readonly taskTimeoutMs: number;
  readonly workerHeapMb: number;
  readonly workerData: WorkerData;
  readonly logger: Logger;
  /** Another worker file: one that loads less code, or one for tests. */
  readonly workerUrl?: URL;
  /** Size of a thread's young generation in MB; V8's default, which grows to about 48 MB, if absent. */
  readonly workerYoungMb?: number;
  /** Tasks per thread at a time; one if absent. More suit work that mostly waits. */
  readonly tasksPerThread?: number;
}

const BUSY_RETRY_SECONDS = 2;
/** Time between the notification of a registered function and the end of its thread. */
const CANCEL_GRACE_MS = 500;

/** Creates a pool on Piscina. */
export function createPool(options: PoolOptions): SharingPool {
  const { threads, queueMax, taskTimeoutMs, logger } = options;
  const compileCache = getCompileCacheDir();
  const piscina = new Piscina({
    filename: (options.workerUrl ?? new URL(programFile("./worker.ts"), import.meta.url)).href,
    name: "runTask",
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: options.tasksPerThread ?? 1,
    // Workers get no environment variables, because they need no secrets. The compile cache is not a secret, and saves each thread from
    // compiling the code.
    env: compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache },
    resourceLimits: {
      maxOldGenerationSizeMb: options.workerHeapMb,
      ...(options.workerYoungMb === undefined ? {} : { maxYoungGenerationSizeMb: options.workerYoungMb }),
    },
    workerData: options.workerData,
    recordTiming: false,
  });
  piscina.on("error", (error) => logger.error({ error: String(error) }, "a worker thread failed outside a task"));
  // Piscina's maxQueue accepts the first waiting task beyond the limit and counts starting threads as free, so tasks are counted here.
  let inFlight = 0;
  return {
    run: async (task, { signal }) => {
      if (inFlight >= threads + queueMax) {
        throw new TrainerError("BUSY", "All threads are busy and the queue is full (TRAINER_QUEUE_MAX). Try again later.", {
          retryAfterSeconds: BUSY_RETRY_SECONDS,
        });
      }
      inFlight++;
      const timeout = AbortSignal.timeout(taskTimeoutMs);
      const unwanted = AbortSignal.any([signal, timeout]);
      const cancel = options.workerData.functionsUrl === undefined ? atOnce(unwanted) : withGrace(unwanted);
      try {
        const work: Promise<ComputeResult> = piscina.run(task.type === "call" ? { ...task, cancel: cancel.port } : task, {
          transferList:
            task.type === "call" ? [task.body.buffer, ...[task.progress, cancel.port].filter((port) => port !== undefined)] : [],
          signal: cancel.signal,
        });
        const result = await work;
        // The result of a function that stopped during the grace period does not change the outcome of a canceled call.
        unwanted.throwIfAborted();
        return unwrap(result);
      } catch (thrown) {
        throw timeout.aborted && !(thrown instanceof TrainerError) ? timedOut(taskTimeoutMs) : explain(thrown);
      } finally {
        cancel.close();
        inFlight--;
      }
    },
    share: async (task) => {
      inFlight++;
      try {
        return unwrap(await piscina.run(task, { transferList: task.type === "call" ? [task.body.buffer] : [] }));
      } catch (thrown) {
        throw explain(thrown);
      } finally {
        inFlight--;
      }
    },
    warmUp: async () => {
      const warm = Array.from({ length: threads }, (): Promise<ComputeResult> => piscina.run({ type: "warm-up" } satisfies ComputeTask));
      const [first] = await Promise.all(warm);
      if (first?.type === "failed") unwrap(first);
      return first?.type === "warm" ? first.registered : [];
    },
    load: () => ({ running: Math.min(inFlight, threads), queued: Math.max(0, inFlight - threads), threads }),
    close: () => piscina.destroy(),
  };
}

function unwrap(result: ComputeResult): ComputeAnswer {
  if (result.type === "done") return { body: result.body, head: result.head };
  if (result.type === "warm") throw new Error("a call was answered as a warm-up");
  const { details, internal, exception } = result;
  throw new TrainerError(result.kind, result.message, { details, internal, exception });
}

function timedOut(taskTimeoutMs: number): TrainerError {
  return new TrainerError("TIMEOUT", `The call took more than ${taskTimeoutMs} ms (TRAINER_TASK_TIMEOUT_MS) and was canceled.`, {
    details: { timeout_ms: taskTimeoutMs },
  });
}

interface Cancel {
  /** Its abort terminates the thread. */
  readonly signal: AbortSignal;
  readonly port: MessagePort | undefined;
  close(): void;
}

/** Built-in operations are synchronous, so they cannot receive a notification. */
function atOnce(signal: AbortSignal): Cancel {
  return { signal, port: undefined, close: () => {} };
}

function withGrace(unwanted: AbortSignal): Cancel {
  const ended = new AbortController();
  const { port1: notifier, port2: port } = new MessageChannel();
  let timer: NodeJS.Timeout | undefined;
  const cancel = (): void => {
    notifier.postMessage("cancel");
    timer = setTimeout(() => ended.abort(), CANCEL_GRACE_MS);
  };
  if (unwanted.aborted) cancel();
  else unwanted.addEventListener("abort", cancel, { once: true });
  return {
    signal: ended.signal,
    port,
    close: () => {
      unwanted.removeEventListener("abort", cancel);
      clearTimeout(timer);
      notifier.close();
    },
  };
}

/** Explains a rejected task. Workers report failures as data, so what is left is an abort or a thread that ended. */
function explain(thrown: unknown): TrainerError {
  if (thrown instanceof TrainerError) return thrown;
  // The error is read by its fields: one that ended a thread is a clone on this side, not a native error.
  const { name, message } = Object(thrown) as { name?: unknown; message?: unknown };
  const shown = typeof message === "string" ? `${name}: ${message}` : "unknown error";
  return new TrainerError("FUNCTION_ERROR", `The worker thread ended before the call was done: ${shown}`, {
    internal: String(thrown),
    exception: exceptionType(thrown),
    cause: thrown,
  });
}
