import { getCompileCacheDir } from "node:module";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import type { Logger } from "../../common/logger.ts";
import { TrainerError } from "../errors.ts";
import type { FunctionName } from "../functions/registry.ts";
import type { ComputeResult, ComputeTask, FollowTask, WorkerData } from "./messages.ts";

/** Threads that compute. One task has one thread; a task that ends its thread ends nobody else's. */
export interface ComputePool {
  /** Throws BUSY when the queue is full and TIMEOUT when the task is over its time; ends the work when `signal` aborts. */
  run(
    task: Extract<ComputeTask, { type: "call" | "secure" | "serve" | "aggregate-blobs" }>,
    options: { signal: AbortSignal },
  ): Promise<ComputeAnswer>;
  /** Settles when every thread has loaded its code and data, with the functions that the operator's module registered. */
  warmUp(): Promise<readonly FunctionName[]>;
  load(): { running: number; queued: number };
  close(): Promise<void>;
}

export interface SharingPool extends ComputePool {
  /** Work that shares a thread with others' (see `tasksPerThread`): it has no time limit, and ends before it is done only with the pool. */
  share(task: SharedTask): Promise<ComputeAnswer>;
}

export type SharedTask = Extract<ComputeTask, { type: "call" | "aggregate-blobs" }> | FollowTask;

export interface ComputeAnswer {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The fields of an answer whose body has no room for them. */
  readonly head: string | undefined;
}

export interface PoolOptions {
  readonly threads: number;
  readonly queueMax: number;
  readonly taskTimeoutMs: number;
  readonly workerHeapMb: number;
  readonly workerData: WorkerData;
  readonly logger: Logger;
  /** Another worker file: one that loads less, or one for tests of what a bad one does. */
  readonly workerUrl?: URL;
  /** Room for what a thread makes and forgets; V8's own where absent, which is some 48 MB once it has grown. */
  readonly workerYoungMb?: number;
  /** One where absent. More, for work that mostly waits. */
  readonly tasksPerThread?: number;
}

const BUSY_RETRY_SECONDS = 2;
/** What a registered function has between hearing that its work is wanted no more and the end of its thread. */
const CANCEL_GRACE_MS = 500;

export function createPool(options: PoolOptions): SharingPool {
  const { threads, queueMax, taskTimeoutMs, logger } = options;
  const compileCache = getCompileCacheDir();
  const piscina = new Piscina({
    filename: (options.workerUrl ?? new URL("./worker.ts", import.meta.url)).href,
    name: "runTask",
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: options.tasksPerThread ?? 1,
    // A worker needs no secret of the environment, and gets none. Where code is kept compiled is none, and spares each thread a compiler.
    env: compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache },
    resourceLimits: {
      maxOldGenerationSizeMb: options.workerHeapMb,
      ...(options.workerYoungMb === undefined ? {} : { maxYoungGenerationSizeMb: options.workerYoungMb }),
    },
    workerData: options.workerData,
    recordTiming: false,
  });
  piscina.on("error", (error) => logger.error({ error: String(error) }, "a worker thread failed outside a task"));
  // Counted here and not by Piscina's maxQueue, which lets the first waiting task in whatever the limit and counts threads that are still starting as room.
  let inFlight = 0;
  return {
    run: async (task, { signal }) => {
      if (inFlight >= threads + queueMax) {
        throw new TrainerError("BUSY", "All threads are at work and the queue is full; try again later.", {
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
        // A function that gave up in its grace has no say in how the call ends.
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
    load: () => ({ running: Math.min(inFlight, threads), queued: Math.max(0, inFlight - threads) }),
    close: () => piscina.destroy(),
  };
}

function unwrap(result: ComputeResult): ComputeAnswer {
  if (result.type === "done") return { body: result.body, head: result.head };
  if (result.type === "warm") throw new Error("a call was answered as a warm-up");
  throw new TrainerError(result.kind, result.message, { details: result.details, internal: result.internal });
}

function timedOut(taskTimeoutMs: number): TrainerError {
  return new TrainerError("TIMEOUT", `The work was not done within ${taskTimeoutMs} ms.`, { details: { timeout_ms: taskTimeoutMs } });
}

interface Cancel {
  /** Ends the thread. */
  readonly signal: AbortSignal;
  readonly port: MessagePort | undefined;
  close(): void;
}

/** Built-in work does not wait for anything, so it could not hear. */
function atOnce(signal: AbortSignal): Cancel {
  return { signal, port: undefined, close: () => {} };
}

function withGrace(unwanted: AbortSignal): Cancel {
  const ended = new AbortController();
  const { port1: told, port2: port } = new MessageChannel();
  let timer: NodeJS.Timeout | undefined;
  const tell = (): void => {
    told.postMessage("cancel");
    timer = setTimeout(() => ended.abort(), CANCEL_GRACE_MS);
  };
  if (unwanted.aborted) tell();
  else unwanted.addEventListener("abort", tell, { once: true });
  return {
    signal: ended.signal,
    port,
    close: () => {
      unwanted.removeEventListener("abort", tell);
      clearTimeout(timer);
      told.close();
    },
  };
}

/** What a rejected task means. The worker itself reports failures as data, so what is left is an abort or a thread that ended. */
function explain(thrown: unknown): TrainerError {
  if (thrown instanceof TrainerError) return thrown;
  // By its fields: an error that ended a thread is put together again on this side, and is no native one any more.
  const { name, message } = Object(thrown) as { name?: unknown; message?: unknown };
  const shown = typeof message === "string" ? `${name}: ${message}` : "unknown error";
  return new TrainerError("FUNCTION_ERROR", `The worker thread ended before the work was done: ${shown}`, {
    internal: String(thrown),
    cause: thrown,
  });
}
