import { asAppError, isTransient } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { RecordStore } from "../records/records.ts";
import type { LineResult } from "./batch-body.ts";
import { type BatchLine, checkLine, isProblem } from "./check-line.ts";
import { type InputLine, inputLines } from "./input-lines.ts";
import type { LeasedBatch } from "./leased-batch.ts";
import { callLine, type LineDeps, skippedLine } from "./line-call.ts";
import { isDone } from "./progress.ts";
import { ResultLog } from "./result-log.ts";

/** What the execution of a batch needs. */
export interface BatchRunDeps extends LineDeps {
  readonly records: RecordStore;
  readonly logger: Logger;
  readonly concurrency: number;
  /** The edge has more calls of clients than it can serve: no request is started meanwhile. */
  mustWait(): boolean;
}

/** How far lines may run ahead of the first unfinished line: finished lines ahead of it are stored in the batch's record. */
const AHEAD_MAX = 1000;
const TURN_MS = 250;

/** One pass over the remaining lines of a batch. */
export interface LineRun {
  readonly leased: LeasedBatch;
  /** After it aborts, no line is started or awaited. */
  readonly signal: AbortSignal;
  /** If present, the remaining requests are not made; each gets this error. */
  readonly skipped?: { readonly code: string; readonly message: string } | undefined;
}

/** Makes all remaining requests with bounded concurrency. Finished results are stored even if the run is interrupted. */
export async function runLines(deps: BatchRunDeps, run: LineRun): Promise<void> {
  await new Lines(deps, run).all();
}

class Lines {
  readonly #deps: BatchRunDeps;
  readonly #run: LineRun;
  readonly #log: ResultLog;
  readonly #active = new Map<number, Promise<void>>();

  constructor(deps: BatchRunDeps, run: LineRun) {
    this.#deps = deps;
    this.#run = run;
    this.#log = new ResultLog(deps, run.leased);
  }

  async all(): Promise<void> {
    try {
      await this.#startAll();
    } finally {
      // Also if the input cannot be read: finished results are stored, so that they are not repeated.
      while (this.#active.size > 0) await this.#turn();
      await this.#flushAll();
    }
  }

  async #startAll(): Promise<void> {
    const { leased } = this.#run;
    const { progress, batch } = leased.body;
    const file = { teamId: leased.teamId, fileId: batch.input_file_id, lineBytesMax: this.#deps.lineBytesMax };
    for await (const input of inputLines(this.#deps.records, file, progress)) {
      if (isDone(progress, input.line)) continue;
      while (!this.#isStopped && !this.#hasRoom(input.line)) await this.#turn();
      if (this.#isStopped) return;
      this.#start(input);
      await this.#log.flushIfDue();
    }
  }

  get #isStopped(): boolean {
    return this.#run.signal.aborted || this.#run.leased.body.batch.status === "cancelling";
  }

  /** Retries while the control plane is unavailable and the claim may still be valid. */
  async #flushAll(): Promise<void> {
    for (;;) {
      try {
        return await this.#log.flush();
      } catch (thrown) {
        if (!isTransient(asAppError(thrown)) || this.#run.leased.work.signal.aborted) throw thrown;
        await this.#deps.clock.sleep(TURN_MS);
      }
    }
  }

  #hasRoom(line: number): boolean {
    if (this.#log.isFull || this.#active.size >= this.#deps.concurrency) return false;
    if (!this.#run.skipped && this.#deps.mustWait()) return false;
    return line - Math.min(line, ...this.#active.keys()) < AHEAD_MAX;
  }

  /** Waits until a line is done or `TURN_MS` has passed, then flushes if due. */
  async #turn(): Promise<void> {
    const { clock } = this.#deps;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(TURN_MS, resolve);
    await Promise.race([promise, ...this.#active.values()]);
    cancel();
    await this.#log.flushIfDue();
  }

  #start(input: InputLine): void {
    const { line, next } = input;
    const done = this.#resultOf(input).then(
      (result) => this.#log.add({ line, next, result }),
      (error: unknown) => this.#broken(input, error),
    );
    this.#active.set(
      line,
      done.finally(() => this.#active.delete(line)),
    );
  }

  /** An interrupted line stays unfinished and is repeated later; any other error is its result. */
  #broken({ line, next, text }: InputLine, error: unknown): void {
    const { leased, signal } = this.#run;
    if (signal.aborted) return;
    this.#deps.logger.error({ batch: leased.id, line, error: String(error) }, "a line of a batch failed unexpectedly");
    const request = checkLine(text, leased.body.batch.endpoint);
    const failure = { code: "server_error", message: "Something went wrong on our side." };
    this.#log.add({ line, next, result: skippedLine(isProblem(request) ? NAMELESS : request, failure, this.#deps) });
  }

  async #resultOf({ line, text }: InputLine): Promise<LineResult | undefined> {
    if (text.trim() === "") return undefined;
    const { leased, signal, skipped } = this.#run;
    const { endpoint } = leased.body.batch;
    const request = checkLine(text, endpoint);
    // The whole file was checked before the first request, and a file cannot be replaced.
    if (isProblem(request)) return skippedLine(NAMELESS, request, this.#deps);
    if (skipped) return skippedLine(request, skipped, this.#deps);
    const onceFor = `${leased.id}/${line}`;
    // Each line has its own signal, so that listeners of its calls do not accumulate on the batch's signal.
    const own = new AbortController();
    const abort = () => own.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await callLine(this.#deps, { endpoint, request, onceFor, caller: () => leased.work.caller(), signal: own.signal });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}

const NAMELESS: BatchLine = { customId: "", body: {} };
