import type { Clock } from "../../common/clock.ts";
import { type AppError, isTransient } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { Settlement } from "./journal/final-record.ts";

/** Where a lane gets its finals, and where they go. */
export interface LaneDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The next finals of this lane, at most `BATCH_MAX`, or `LATE_BATCH_MAX` if as many wait. */
  take(lane: Lane): readonly Settlement[];
  /** How many finals wait for this lane. */
  waiting(lane: Lane): number;
  /** Sends finals, and what leases return; undefined: the ledger has them. */
  settle(lane: Lane, batch: readonly Settlement[]): Promise<AppError | undefined>;
  /** Of finals that could not be sent, those that still belong to the lane. */
  keep(lane: Lane, batch: readonly Settlement[]): readonly Settlement[];
  /** The ledger has `lane.inFlight`, or refused it permanently. */
  shipped(lane: Lane): Promise<void> | undefined;
}

export const BATCH_MAX = 400;
/** A lane that has fallen behind sends more at once: a busy edge sends and hears of one batch in a few turns of its event loop. */
export const LATE_BATCH_MAX = 1_600;
/**
 * While calls end one after another, each batch waits this long to fill up: a batch costs much the same with one call or fifty. A caller
 * that waits for the ledger ends the wait.
 */
const GATHER_MS = 250;
/** After this time without a batch a call is shipped alone. */
const PAUSE_MS = 200;
const BACK_OFF_MS = 50;
const BACK_OFF_MS_MAX = 1000;

/** Finals for one control plane. It ships them in batches, one after the other, until the ledger has them; other lanes do not wait for it. */
export class Lane {
  /** The address of the control plane; empty: any. */
  readonly name: string;
  /** Finals that wait, in order of their sequence. */
  queue: Settlement[] = [];
  /** Finals that are being sent. */
  inFlight: readonly Settlement[] = [];
  readonly #deps: LaneDeps;
  #running = false;
  #stopped = false;
  /** Something was added since the lane last took finals. */
  #woken = false;
  #reportReturns = false;
  #lastShippedMs = Number.NEGATIVE_INFINITY;
  #idleWaiters: (() => void)[] = [];
  #endGathering: () => void = () => {};

  constructor(name: string, deps: LaneDeps) {
    this.name = name;
    this.#deps = deps;
  }

  /** It has nothing and does nothing. */
  get isEmpty(): boolean {
    return !this.#running && this.queue.length === 0 && this.inFlight.length === 0;
  }

  /** It has more finals, or leases have credit to return. */
  wake(reportReturns = false): void {
    this.#woken = true;
    this.#reportReturns ||= reportReturns;
    if (!this.#running && !this.#stopped) void this.#run();
    else if (this.#deps.waiting(this) >= BATCH_MAX) this.#endGathering();
  }

  /** Resolves when nothing waits in the lane. */
  async idle(): Promise<void> {
    if (!this.#running) return;
    const idle = new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    this.#endGathering();
    await idle;
  }

  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#woken && !this.#stopped) {
      this.#woken = false;
      await this.#gather();
      await this.#ship();
    }
    this.#running = false;
    for (const wake of this.#idleWaiters.splice(0)) wake();
  }

  /** Ships full batches one after the other. A batch that is not full waits for more finals. */
  async #ship(): Promise<void> {
    do {
      this.inFlight = this.#deps.take(this);
      if (this.inFlight.length === 0 && !this.#reportReturns) return;
      this.#reportReturns = false;
      // Finals that the ledger did not take stay unacknowledged: the next process ships them.
      if (!(await this.#bring(this.inFlight))) return;
      const last = this.#deps.shipped(this);
      this.#lastShippedMs = this.#deps.clock.monotonicMs();
      await last;
    } while (!this.#stopped && (this.#reportReturns || this.#deps.waiting(this) >= BATCH_MAX));
    this.#woken ||= this.#deps.waiting(this) > 0;
  }

  async #gather(): Promise<void> {
    const sinceMs = this.#deps.clock.monotonicMs() - this.#lastShippedMs;
    // A single call after a pause, or a call that something waits for, is shipped at once.
    if (sinceMs > PAUSE_MS || this.#idleWaiters.length > 0 || this.#deps.waiting(this) >= BATCH_MAX) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#deps.clock.after(GATHER_MS, resolve);
      this.#endGathering = () => {
        cancel();
        resolve();
      };
    });
    this.#endGathering = () => {};
  }

  /** Whether the ledger has all of the batch that still belongs to the lane, or refused it permanently; false: stopped before. */
  async #bring(batch: readonly Settlement[]): Promise<boolean> {
    let rest = batch;
    for (let delayMs = BACK_OFF_MS; ; delayMs = Math.min(delayMs * 2, BACK_OFF_MS_MAX)) {
      const failure = await this.#deps.settle(this, rest);
      if (failure === undefined) return true;
      if (!isTransient(failure)) return this.#oneByOne(rest, failure);
      if (this.#stopped) return false;
      await this.#deps.clock.sleep(delayMs);
      rest = this.#deps.keep(this, rest);
      if (rest.length === 0 && batch.length > 0) {
        // Its finals are in other lanes now; what leases return was not sent either.
        this.#reportReturns = true;
        return true;
      }
    }
  }

  /**
   * One refused settlement fails its batch: sent one by one, each gets its own result. A repeated settlement is harmless because of its
   * call id.
   */
  async #oneByOne(batch: readonly Settlement[], failure: AppError): Promise<boolean> {
    const [only] = batch;
    if (only && batch.length === 1) {
      const { callId, cost } = only.log;
      // Refused for its content: a retry changes nothing. This is money lost or counted twice, so it is logged as an error.
      this.#deps.logger.error({ callId, code: failure.code, cost: cost.toString(), reason: failure.message }, "a settlement was refused");
      return true;
    }
    for (const settlement of batch) if (!(await this.#bring([settlement]))) return false;
    return true;
  }
}
