import type { Clock } from "../../common/clock.ts";
import { type AppError, asAppError, isTransient } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import type { LeaseReturn } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "../access/clients/control-plane.ts";
import type { Settlement } from "./journal/final-record.ts";
import type { Journal } from "./journal/journal.ts";

export interface ShipperDeps {
  readonly journal: Pick<Journal, "unacknowledged" | "acknowledge" | "pending">;
  readonly access: Pick<ControlPlane["access"], "settle">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly edgeId: string;
  /** The lease that a call was made under; zero: it was reserved by itself, or before this process started. */
  readonly generationOf: (callId: string) => bigint;
  /** What leases give back; asked for each batch. */
  readonly returns: () => LeaseReturn[];
  /** The ledger has it, or refused it for good. */
  readonly settled: (callId: string) => void;
  /** Processes before this one, whose calls stand in the journal: once those are settled, their leases end. */
  readonly endedEdges: readonly string[];
}

const BATCH_MAX = 400;
const SETTLE_MS = 5000;
/**
 * While calls come one after another, each batch waits so long for company, or until it is full: a batch costs much the same with one
 * call or with fifty. Who waits for the ledger ends it.
 */
const GATHER_MS = 250;
/** After so long without a batch a call is alone. */
const PAUSE_MS = 200;
const BACK_OFF_MS = 50;
const BACK_OFF_MS_MAX = 1000;

/** Brings finished calls from the journal to the ledger, in order, batch by batch, however often it has to be tried. */
export class Shipper {
  readonly #deps: ShipperDeps;
  #running = false;
  #stopped = false;
  /** Something came since the journal was last looked at. */
  #woken = false;
  #tellReturns = false;
  #lastShippedMs = Number.NEGATIVE_INFINITY;
  #idleWaiters: (() => void)[] = [];
  #endedEdges: readonly string[];
  #endGathering: () => void = () => {};

  constructor(deps: ShipperDeps) {
    this.#deps = deps;
    this.#endedEdges = deps.endedEdges;
  }

  /** The journal has more, or, when leases have something to give back, less than nothing has to be told. */
  wake({ tellReturns = false } = {}): void {
    this.#woken = true;
    this.#tellReturns ||= tellReturns;
    if (!this.#running && !this.#stopped) void this.#run();
    else if (this.#deps.journal.pending() >= BATCH_MAX) this.#endGathering();
  }

  /** Resolves when the ledger has everything that the journal had when this was asked. */
  async idle(): Promise<void> {
    if (!this.#running) return;
    const idle = new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    this.#endGathering();
    await idle;
  }

  /** After the batch that is on its way; what is left is in the journal. */
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

  /** Full batches one after the other. What came meanwhile and does not fill one waits for company, as every batch does. */
  async #ship(): Promise<void> {
    do {
      const batch = this.#take();
      if (batch.length === 0 && !this.#tellReturns) return;
      this.#tellReturns = false;
      // What the ledger did not take stays unacknowledged: the next process brings it.
      if (!(await this.#bring(batch))) return;
      const last = batch.at(-1);
      if (last) this.#deps.journal.acknowledge(last.sequence);
      for (const { log } of batch) this.#deps.settled(log.callId);
      this.#lastShippedMs = this.#deps.clock.monotonicMs();
      // The journal had no more: what dead processes left was in it.
      if (batch.length < BATCH_MAX && this.#endedEdges.length > 0) await this.#tellEnded();
    } while (!this.#stopped && (this.#tellReturns || this.#deps.journal.pending() >= BATCH_MAX));
    this.#woken ||= this.#deps.journal.pending() > 0;
  }

  /** Tried again with the next batch where it failed; until then their leases run out by themselves. */
  async #tellEnded(): Promise<void> {
    if ((await this.#settle([], this.#endedEdges)) === undefined) this.#endedEdges = [];
  }

  async #gather(): Promise<void> {
    const sinceMs = this.#deps.clock.monotonicMs() - this.#lastShippedMs;
    // Alone after a pause, or somebody waits for it: goes at once.
    if (sinceMs > PAUSE_MS || this.#idleWaiters.length > 0 || this.#deps.journal.pending() >= BATCH_MAX) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#deps.clock.after(GATHER_MS, resolve);
      this.#endGathering = () => {
        cancel();
        resolve();
      };
    });
    this.#endGathering = () => {};
  }

  #take(): Settlement[] {
    const batch: Settlement[] = [];
    for (const settlement of this.#deps.journal.unacknowledged()) {
      batch.push(settlement);
      if (batch.length === BATCH_MAX) break;
    }
    return batch;
  }

  /** Whether the ledger has all of it, or refused it for good; false: it was stopped before. */
  async #bring(batch: readonly Settlement[]): Promise<boolean> {
    for (let delayMs = BACK_OFF_MS; ; delayMs = Math.min(delayMs * 2, BACK_OFF_MS_MAX)) {
      const failure = await this.#settle(batch);
      if (failure === undefined) return true;
      if (!isTransient(failure)) return this.#oneByOne(batch, failure);
      if (this.#stopped) return false;
      await this.#deps.clock.sleep(delayMs);
    }
  }

  /** One refused settlement refuses its batch: asked one by one each gets its own answer, and the call id makes that harmless. */
  async #oneByOne(batch: readonly Settlement[], failure: AppError): Promise<boolean> {
    const [only] = batch;
    if (only && batch.length === 1) {
      const { callId, cost } = only.log;
      // Refused for what it says: asking again changes nothing. This is money lost or counted twice, so it is loud.
      this.#deps.logger.error({ callId, code: failure.code, cost: cost.toString(), reason: failure.message }, "a settlement was refused");
      return true;
    }
    for (const settlement of batch) if (!(await this.#bring([settlement]))) return false;
    return true;
  }

  async #settle(batch: readonly Settlement[], endedEdges: readonly string[] = []): Promise<AppError | undefined> {
    const { access, edgeId, generationOf, returns } = this.#deps;
    const settlements = batch.map(({ log }) => ({ log, leaseGeneration: generationOf(log.callId) }));
    try {
      await access.settle({ settlements, edgeId, returns: returns(), endedEdges: [...endedEdges] }, { deadlineMs: SETTLE_MS });
      return undefined;
    } catch (thrown) {
      return asAppError(thrown);
    }
  }
}
