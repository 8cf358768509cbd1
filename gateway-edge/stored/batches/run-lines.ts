import { asAppError, isTransient } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { RecordStore } from "../records/records.ts";
import type { LineResult } from "./batch-body.ts";
import type { BatchHold } from "./batch-hold.ts";
import { type BatchLine, checkLine, isProblem } from "./check-line.ts";
import { type InputLine, inputLines } from "./input-lines.ts";
import { callLine, type LineDeps, unmadeLine } from "./line-call.ts";
import { isDone } from "./progress.ts";
import { ResultLog } from "./result-log.ts";

export interface RunDeps extends LineDeps {
  readonly records: RecordStore;
  readonly logger: Logger;
  readonly concurrency: number;
  readonly lineBytesMax: number;
}

/** How far lines may run ahead of the first that is not done: what is done ahead is kept in the batch's record. */
const AHEAD_MAX = 1000;
const TURN_MS = 250;

export interface LineRun {
  readonly hold: BatchHold;
  /** Aborted: no line is started or waited for any more. */
  readonly signal: AbortSignal;
  /** Present: the lines that are left are not made, and say why. */
  readonly unmade?: { readonly code: string; readonly message: string } | undefined;
}

/** Makes every request that is not done yet, some at a time. Ends, when it is interrupted, with what was done kept. */
export async function runLines(deps: RunDeps, run: LineRun): Promise<void> {
  await new Lines(deps, run).all();
}

class Lines {
  readonly #deps: RunDeps;
  readonly #run: LineRun;
  readonly #log: ResultLog;
  readonly #active = new Map<number, Promise<void>>();

  constructor(deps: RunDeps, run: LineRun) {
    this.#deps = deps;
    this.#run = run;
    this.#log = new ResultLog(deps, run.hold);
  }

  async all(): Promise<void> {
    try {
      await this.#startAll();
    } finally {
      // Also when the input could not be read on: what was made is kept, and whoever goes on does not make it again.
      while (this.#active.size > 0) await this.#turn();
      await this.#flushAll();
    }
  }

  async #startAll(): Promise<void> {
    const { hold } = this.#run;
    const { progress, batch } = hold.body;
    const file = { teamId: hold.teamId, fileId: batch.input_file_id, lineBytesMax: this.#deps.lineBytesMax };
    for await (const input of inputLines(this.#deps.records, file, progress)) {
      if (isDone(progress, input.line)) continue;
      while (!this.#isStopped && !this.#hasRoom(input.line)) await this.#turn();
      if (this.#isStopped) return;
      this.#start(input);
      await this.#log.flushIfDue();
    }
  }

  get #isStopped(): boolean {
    return this.#run.signal.aborted || this.#run.hold.body.batch.status === "cancelling";
  }

  /** A control plane that is away is waited for, as long as the claim may still be ours. */
  async #flushAll(): Promise<void> {
    for (;;) {
      try {
        return await this.#log.flush();
      } catch (thrown) {
        if (!isTransient(asAppError(thrown)) || this.#run.hold.work.signal.aborted) throw thrown;
        await this.#deps.clock.sleep(TURN_MS);
      }
    }
  }

  #hasRoom(line: number): boolean {
    if (this.#log.isFull || this.#active.size >= this.#deps.concurrency) return false;
    return line - Math.min(line, ...this.#active.keys()) < AHEAD_MAX;
  }

  /** Until a line is done, or it is time to look at what was. */
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

  /** Interrupted, a line is not done, and whoever goes on makes it; otherwise it has failed. */
  #broken({ line, next, text }: InputLine, error: unknown): void {
    const { hold, signal } = this.#run;
    if (signal.aborted) return;
    this.#deps.logger.error({ batch: hold.id, line, error: String(error) }, "a line broke off");
    const request = checkLine(text, hold.body.batch.endpoint);
    const failure = { code: "server_error", message: "Something went wrong on our side." };
    this.#log.add({ line, next, result: unmadeLine(isProblem(request) ? NAMELESS : request, failure, this.#deps) });
  }

  async #resultOf({ line, text }: InputLine): Promise<LineResult | undefined> {
    if (text.trim() === "") return undefined;
    const { hold, signal, unmade } = this.#run;
    const { endpoint } = hold.body.batch;
    const request = checkLine(text, endpoint);
    // The whole file was checked before the first line was made; it cannot be replaced since.
    if (isProblem(request)) return unmadeLine(NAMELESS, request, this.#deps);
    if (unmade) return unmadeLine(request, unmade, this.#deps);
    const onceFor = `${hold.id}/${line}`;
    // A signal of its own: what each call hangs on it goes with the line, and does not gather on that of the batch.
    const own = new AbortController();
    const abort = () => own.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await callLine(this.#deps, { endpoint, request, onceFor, caller: () => hold.work.caller(), signal: own.signal });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}

const NAMELESS: BatchLine = { customId: "", body: {} };
