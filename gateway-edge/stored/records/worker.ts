import { type Clock, pause } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { newId } from "../../../common/ids.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Random } from "../../../common/random.ts";
import type { WorkKind } from "../../../common/record-kinds.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import { LeasedWork } from "./leased-work.ts";
import type { Claimed, RecordStore } from "./records.ts";
import type { WorkHandlers } from "./work.ts";

/** What a worker needs. */
export interface WorkerDeps {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly handlers: WorkHandlers;
  readonly pollMs?: number;
  readonly leaseMs?: number;
  readonly renewMs?: number;
  /** How many records of a kind this edge works on at once. */
  readonly concurrency?: Readonly<Partial<Record<WorkKind, number>>>;
  /** How often the claims of a kind are renewed, if not every `renewMs`. */
  readonly renewals?: Readonly<Partial<Record<WorkKind, number>>>;
}

/** Executes background work on stored records. */
export interface Worker {
  /** A claim for a record that this edge is about to create or put as claimed by itself; `startNow` follows. */
  newLease(): { claim: string; dueAtMs: number };
  /**
   * Starts work that this edge has just committed with `newLease`. Returns false if the edge is at its limit; then another edge claims the
   * work.
   */
  startNow(claimed: Claimed): boolean;
  /** How many records of a kind this edge works on for a team. */
  countOf(kind: WorkKind, teamId: string): number;
  /** Polls for due work now instead of at the next interval. */
  wake(): void;
  /** Renews the claim on a record now, if this edge has it, so that its handler sees new writes at once. */
  refresh(id: string): void;
  /** Renews the claims of these callers' work now: a removed key or a blocked team ends it within a second, as it ends other calls. */
  refreshCallers(isChanged: (caller: Caller) => boolean): void;
  /** Aborts and releases all work, so that another edge continues it at once. */
  stop(): Promise<void>;
}

const CONCURRENCY_DEFAULT = 64;
/** How long a stopping edge waits for its handlers. */
const STOP_MS_MAX = 5000;

/** Polls for due records of the kinds that it has handlers for, and runs the handlers under a lease. */
export function createWorker(deps: WorkerDeps): Worker {
  const worker = new PollingWorker(deps);
  worker.start();
  return worker;
}

class PollingWorker implements Worker {
  readonly #deps: WorkerDeps & { pollMs: number; leaseMs: number; renewMs: number };
  readonly #held = new Map<string, LeasedWork>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #wake: () => void = () => {};
  #isAwake = false;

  constructor(deps: WorkerDeps) {
    this.#deps = { ...deps, pollMs: deps.pollMs ?? 2000, leaseMs: deps.leaseMs ?? 15_000, renewMs: deps.renewMs ?? 2000 };
  }

  start(): void {
    this.#running = this.#poll();
  }

  newLease(): { claim: string; dueAtMs: number } {
    const { clock, leaseMs } = this.#deps;
    return { claim: newId("claim", this.#deps), dueAtMs: clock.now() + leaseMs };
  }

  startNow(claimed: Claimed): boolean {
    const { id } = claimed.record;
    const kind = kindOf(claimed);
    if (this.#stopping.signal.aborted || this.#room(kind) <= 0) {
      const held = new LeasedWork(claimed, this.#deps);
      this.#deps.logger.debug({ kind, id }, "the edge is at its limit; the work waits");
      void held.release();
      return false;
    }
    this.#start(claimed);
    return true;
  }

  countOf(kind: WorkKind, teamId: string): number {
    return [...this.#held.values()].filter((held) => held.kind === kind && held.latest().teamId === teamId).length;
  }

  wake(): void {
    this.#isAwake = true;
    this.#wake();
  }

  refresh(id: string): void {
    void this.#held.get(id)?.renew();
  }

  refreshCallers(isChanged: (caller: Caller) => boolean): void {
    for (const held of this.#held.values()) {
      const caller = held.caller();
      if (caller && isChanged(caller)) void held.renewAnew();
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new AppError("UNAVAILABLE", "This edge is stopping."));
    this.#wake();
    await this.#running;
    const patience = new AbortController();
    const ended = Promise.all([...this.#held.values()].map((held) => held.ended));
    await Promise.race([ended, pause(this.#deps.clock, STOP_MS_MAX, patience.signal)]);
    patience.abort();
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#isAwake = false;
      await this.#claimAll();
      if (!this.#isAwake && !signal.aborted) await this.#rest();
    }
  }

  /** One request for all kinds at first, because usually nothing is due. */
  async #claimAll(): Promise<void> {
    const kinds = (Object.keys(this.#deps.handlers) as WorkKind[]).filter((kind) => this.#room(kind) > 0);
    if ((await this.#claimDue(kinds)) === 0) return;
    for (const kind of kinds) await this.#claimDue([kind]);
  }

  /** Claims as many as there is room for in each of the kinds, and returns their number. */
  async #claimDue(kinds: readonly WorkKind[]): Promise<number> {
    const { records, leaseMs, logger } = this.#deps;
    const limit = Math.min(...kinds.map((kind) => this.#room(kind)));
    if (kinds.length === 0 || limit <= 0) return 0;
    try {
      const claimed = await records.claim(kinds, { claim: newId("claim", this.#deps), leaseMs, limit });
      for (const piece of claimed) this.#start(piece);
      return claimed.length;
    } catch (error) {
      logger.debug({ kinds, error: String(error) }, "due work could not be claimed");
      return 0;
    }
  }

  #room(kind: WorkKind): number {
    const busy = [...this.#held.values()].filter((held) => held.kind === kind).length;
    return (this.#deps.concurrency?.[kind] ?? CONCURRENCY_DEFAULT) - busy;
  }

  #start(claimed: Claimed): void {
    const { id } = claimed.record;
    const kind = kindOf(claimed);
    const handler = this.#deps.handlers[kind];
    if (!handler) throw new Error(`there is no handler for work of the kind ${kind}`);
    const held = new LeasedWork(claimed, { ...this.#deps, renewMs: this.#deps.renewals?.[kind] ?? this.#deps.renewMs });
    this.#held.set(id, held);
    void held.run(handler, this.#stopping.signal).finally(() => {
      // The same record may have been claimed again while the old handler was ending.
      if (this.#held.get(id) === held) this.#held.delete(id);
      this.wake();
    });
  }

  #rest(): Promise<void> {
    const { clock, pollMs, random } = this.#deps;
    // Jitter: edges that started together do not poll together.
    const jitterMs = (random.bytes(1).readUInt8() / 256) * (pollMs / 8);
    return new Promise((resolve) => {
      const cancel = clock.after(pollMs - jitterMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Only records of these kinds are claimed. */
function kindOf({ record }: Claimed): WorkKind {
  return record.kind as WorkKind;
}
