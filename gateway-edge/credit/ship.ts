import type { Clock } from "../../common/clock.ts";
import { type AppError, asAppError, isTransient } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";
import { ownerOf } from "../../common/peers/peer.ts";
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
  /** The lease generation of a call; zero: it was reserved alone, or before this process started. */
  readonly generationOf: (callId: string) => bigint;
  /** Credit that leases return; read for each batch. */
  readonly returns: () => LeaseReturn[];
  /** The ledger has the call, or refused it permanently. */
  readonly settled: (callId: string) => void;
  /** Earlier processes whose calls are in the journal: when those are settled, their leases end. */
  readonly endedEdges: readonly string[];
}

const BATCH_MAX = 400;
const SETTLE_MS = 5000;
/**
 * While calls end one after another, each batch waits this long to fill up: a batch costs much the same with one call or fifty. A caller
 * that waits for the ledger ends the wait.
 */
const GATHER_MS = 250;
/** After this time without a batch a call is shipped alone. */
const PAUSE_MS = 200;
const BACK_OFF_MS = 50;
const BACK_OFF_MS_MAX = 1000;

/** Ships finished calls from the journal to the ledger, in order and in batches, until the ledger has them. */
export class Shipper {
  readonly #deps: ShipperDeps;
  #running = false;
  #stopped = false;
  /** Something was added since the journal was last read. */
  #woken = false;
  #reportReturns = false;
  #lastShippedMs = Number.NEGATIVE_INFINITY;
  #idleWaiters: (() => void)[] = [];
  #endedEdges: readonly string[];
  #endGathering: () => void = () => {};

  constructor(deps: ShipperDeps) {
    this.#deps = deps;
    // Leases of edges with another certificate expire by themselves: this edge may not end them.
    this.#endedEdges = deps.endedEdges.filter((id) => [undefined, ownerOf(deps.edgeId)].includes(ownerOf(id)));
  }

  /** The journal has more finals, or leases have credit to return. */
  wake({ reportReturns = false } = {}): void {
    this.#woken = true;
    this.#reportReturns ||= reportReturns;
    if (!this.#running && !this.#stopped) void this.#run();
    else if (this.#deps.journal.pending() >= BATCH_MAX) this.#endGathering();
  }

  /** Resolves when the ledger has everything that the journal had at the time of the call. */
  async idle(): Promise<void> {
    if (!this.#running) return;
    const idle = new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    this.#endGathering();
    await idle;
  }

  /** Stops after the running batch; the rest stays in the journal. */
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
      const batch = this.#take();
      if (batch.length === 0 && !this.#reportReturns) return;
      this.#reportReturns = false;
      // Finals that the ledger did not take stay unacknowledged: the next process ships them.
      if (!(await this.#bring(batch))) return;
      const last = batch.at(-1);
      if (last) this.#deps.journal.acknowledge(last.sequence);
      for (const { log } of batch) this.#deps.settled(log.callId);
      this.#lastShippedMs = this.#deps.clock.monotonicMs();
      // The journal has no more finals, so those of dead processes are shipped.
      if (batch.length < BATCH_MAX && this.#endedEdges.length > 0) await this.#reportEnded();
    } while (!this.#stopped && (this.#reportReturns || this.#deps.journal.pending() >= BATCH_MAX));
    this.#woken ||= this.#deps.journal.pending() > 0;
  }

  /** Tried again with the next batch if it fails; until then their leases expire by themselves. */
  async #reportEnded(): Promise<void> {
    if ((await this.#settle([], this.#endedEdges)) === undefined) this.#endedEdges = [];
  }

  async #gather(): Promise<void> {
    const sinceMs = this.#deps.clock.monotonicMs() - this.#lastShippedMs;
    // A single call after a pause, or a call that something waits for, is shipped at once.
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

  /** Whether the ledger has all of the batch, or refused it permanently; false: stopped before. */
  async #bring(batch: readonly Settlement[]): Promise<boolean> {
    for (let delayMs = BACK_OFF_MS; ; delayMs = Math.min(delayMs * 2, BACK_OFF_MS_MAX)) {
      const failure = await this.#settle(batch);
      if (failure === undefined) return true;
      if (!isTransient(failure)) return this.#oneByOne(batch, failure);
      if (this.#stopped) return false;
      await this.#deps.clock.sleep(delayMs);
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
