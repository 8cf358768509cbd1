import { Worker } from "node:worker_threads";
import type { CancelSignal } from "../../../common/cancel.ts";
import type { Clock } from "../../../common/clock.ts";
import { programFile } from "../../../common/program-files.ts";
import type { CheckReply, CheckTask } from "./check-task.ts";

/** Where a task waits: it is one of its organization's, and leaves when nothing needs it any more. */
export interface CheckPlace {
  readonly organizationId: string;
  readonly signal: CancelSignal;
}

/** Runs checks apart from the event loop, one at a time. */
export interface CheckThread {
  /** Never throws, but the signal's reason. */
  run(task: CheckTask, place: CheckPlace): Promise<CheckReply>;
  close(): Promise<void>;
}

interface Waiting extends CheckPlace {
  readonly task: CheckTask;
  readonly sinceMs: number;
  readonly resolve: (reply: CheckReply) => void;
}

interface Running {
  readonly waiting: Waiting;
  readonly cancelLimit: () => void;
}

/** Of one organization. Others are served between them, so that those who send slow schemas wait for each other. */
const WAITING_MAX = 64;
const WAIT_MS_MAX = 10_000;
/**
 * The thread ends its tasks itself, by its own time. This limit is real time, for what it cannot end; a thread that waits for a processor
 * can need far more real time than its own.
 */
const TASK_MS_MAX = 20_000;
/** What a thread does not get beyond this ends it, and not the process. */
const HEAP_MB = 192;

/** Starts its thread with the first task. */
export class SchemaCheckThread implements CheckThread {
  readonly #clock: Clock;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  #worker: Worker | undefined;
  #running: Running | undefined;
  #isClosed = false;
  #served = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run(task: CheckTask, place: CheckPlace): Promise<CheckReply> {
    const { organizationId, signal } = place;
    signal.throwIfAborted();
    const line = this.#waiting.get(organizationId) ?? [];
    if (this.#isClosed || line.length >= WAITING_MAX) return { type: "busy" };
    const { promise, resolve } = Promise.withResolvers<CheckReply>();
    line.push({ ...place, task, sinceMs: this.#clock.monotonicMs(), resolve });
    this.#waiting.set(organizationId, line);
    this.#next();
    const reply = await promise;
    signal.throwIfAborted();
    return reply;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const line of this.#waiting.values()) for (const { resolve } of line) resolve({ type: "busy" });
    this.#waiting.clear();
    await this.#ended({ type: "busy" });
  }

  #next(): void {
    if (this.#running) return;
    const waiting = this.#take();
    if (!waiting) return;
    const worker = this.#worker ?? this.#start();
    const cancelLimit = this.#clock.after(TASK_MS_MAX, () => void this.#ended({ type: "slow", step: "texts" }));
    this.#running = { waiting, cancelLimit };
    worker.postMessage(waiting.task);
  }

  /** The next task whose caller still waits, of the organization whose turn it is. */
  #take(): Waiting | undefined {
    for (let organizationId = this.#turn(); organizationId !== undefined; organizationId = this.#turn()) {
      const [first, ...others] = this.#waiting.get(organizationId) ?? [];
      this.#waiting.delete(organizationId);
      if (others.length > 0) this.#waiting.set(organizationId, others);
      if (!first) continue;
      const isLate = this.#clock.monotonicMs() - first.sinceMs > WAIT_MS_MAX;
      if (!isLate && !first.signal.aborted) {
        this.#served = organizationId;
        return first;
      }
      first.resolve({ type: "busy" });
    }
    return undefined;
  }

  /** The organization whose turn it is: one that was just served comes after the others. */
  #turn(): string | undefined {
    for (const organizationId of this.#waiting.keys()) if (organizationId !== this.#served) return organizationId;
    return this.#waiting.keys().next().value;
  }

  #start(): Worker {
    const worker = new Worker(new URL(programFile("./check-worker.ts"), import.meta.url), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    // A process that is done does not stay for its thread.
    worker.unref();
    worker.on("message", (reply: CheckReply) => this.#worker === worker && this.#reply(reply));
    worker.on("error", (error) => this.#worker === worker && void this.#ended(replyAfter(error)));
    this.#worker = worker;
    return worker;
  }

  #reply(reply: CheckReply): void {
    const running = this.#running;
    this.#running = undefined;
    running?.cancelLimit();
    running?.waiting.resolve(reply);
    this.#next();
  }

  /** The thread ends with its task; the next task gets a new one. */
  async #ended(reply: CheckReply): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    const ending = worker?.terminate();
    this.#reply(reply);
    await ending;
  }
}

function replyAfter(error: Error): CheckReply {
  const isTooLarge = (error as Error & { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY";
  return isTooLarge ? { type: "slow", step: "texts" } : { type: "failed", reason: String(error) };
}
