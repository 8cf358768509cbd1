import { Piscina } from "piscina";
import type { Logger } from "../../common/logger.ts";
import { TrainerError } from "../errors.ts";
import type { ComputeResult, ComputeTask, WorkerData } from "./messages.ts";

/** Threads that compute. One task has one thread; a task that ends its thread ends nobody else's. */
export interface ComputePool {
  /** Throws BUSY when the queue is full and TIMEOUT when the task is over its time; ends the work when `signal` aborts. */
  run(task: Extract<ComputeTask, { type: "call" }>, options: { signal: AbortSignal }): Promise<ComputeAnswer>;
  /** Settles when every thread has loaded its code and data. */
  warmUp(): Promise<void>;
  load(): { running: number; queued: number };
  close(): Promise<void>;
}

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
  /** Another worker file, for tests of what a bad one does. */
  readonly workerUrl?: URL;
}

const BUSY_RETRY_SECONDS = 2;

export function createPool(options: PoolOptions): ComputePool {
  const { threads, queueMax, taskTimeoutMs, logger } = options;
  const piscina = new Piscina({
    filename: (options.workerUrl ?? new URL("./worker.ts", import.meta.url)).href,
    name: "runTask",
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: 1,
    // A worker needs no secret of the environment, and gets none.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: options.workerHeapMb },
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
      try {
        const work: Promise<ComputeResult> = piscina.run(task, {
          transferList: [task.body.buffer, ...(task.progress ? [task.progress] : [])],
          signal: AbortSignal.any([signal, timeout]),
        });
        return unwrap(await work);
      } catch (thrown) {
        throw explain(thrown, timeout, taskTimeoutMs);
      } finally {
        inFlight--;
      }
    },
    warmUp: async () => {
      await Promise.all(Array.from({ length: threads }, () => piscina.run({ type: "warm-up" } satisfies ComputeTask)));
    },
    load: () => ({ running: Math.min(inFlight, threads), queued: Math.max(0, inFlight - threads) }),
    close: () => piscina.destroy(),
  };
}

function unwrap(result: ComputeResult): ComputeAnswer {
  if (result.type === "done") return { body: result.body, head: result.head };
  throw new TrainerError(result.kind, result.message, { details: result.details, internal: result.internal });
}

/** What a rejected task means. The worker itself reports failures as data, so what is left is an abort or a thread that ended. */
function explain(thrown: unknown, timeout: AbortSignal, taskTimeoutMs: number): TrainerError {
  if (thrown instanceof TrainerError) return thrown;
  if (timeout.aborted)
    return new TrainerError("TIMEOUT", `The work was not done within ${taskTimeoutMs} ms.`, { details: { timeout_ms: taskTimeoutMs } });
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : "unknown error";
  return new TrainerError("FUNCTION_ERROR", `The worker thread ended before the work was done: ${message}`, {
    internal: String(thrown),
    cause: thrown,
  });
}
