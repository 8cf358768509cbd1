import { type Clock, pause } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import { ignore } from "../../../common/ignore.ts";
import type { Logger } from "../../../common/logger.ts";
import type { RecordKind } from "../../../common/record-kinds.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Claimed, RecordOf, RecordStore } from "./records.ts";
import type { WorkHandler, WorkLease } from "./work.ts";

/** What a lease needs to be renewed. */
export interface LeaseDeps {
  readonly records: Pick<RecordStore, "renew">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly leaseMs: number;
  readonly renewMs: number;
}

/** The shortest lease: it is over before another edge polls. */
const RELEASE_MS = 100;

/** One claimed record. The claim is renewed while its handler runs, released when the edge stops, and invalid after its lease. */
export class LeasedWork implements WorkLease {
  readonly kind: RecordKind;
  readonly claim: string;
  readonly ended: Promise<void>;
  readonly #deps: LeaseDeps;
  readonly #claimed: Claimed;
  readonly #abort = new AbortController();
  readonly #end: () => void;
  readonly #listeners: ((record: RecordOf<unknown>) => void)[] = [];
  #latest: RecordOf<unknown>;
  #caller: Caller | undefined;
  /** When the request that began the lease was sent. The lease does not end before this time plus `leaseMs`. */
  #leasedAtMs: number;
  #renewing: Promise<void> | undefined;

  constructor(claimed: Claimed, deps: LeaseDeps) {
    const { record } = claimed;
    if (record.claim === undefined) throw new Error(`${record.kind} ${record.id} is not claimed`);
    this.kind = record.kind;
    this.claim = record.claim;
    this.#claimed = claimed;
    this.#deps = deps;
    this.#latest = record;
    this.#caller = claimed.caller;
    this.#leasedAtMs = deps.clock.monotonicMs() - Math.max(0, deps.clock.now() + deps.leaseMs - (record.dueAtMs ?? 0));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  latest(): RecordOf<unknown> {
    return this.#latest;
  }

  caller(): Caller | undefined {
    return this.#caller;
  }

  onChange(listener: (record: RecordOf<unknown>) => void): void {
    this.#listeners.push(listener);
  }

  /** Runs the handler; resolves when it has ended, also after an error. */
  async run(handler: WorkHandler, stopping: AbortSignal): Promise<void> {
    const { logger } = this.#deps;
    const stop = () => this.#abort.abort(stopping.reason);
    if (stopping.aborted) stop();
    stopping.addEventListener("abort", stop, { once: true });
    const done = new AbortController();
    const renewals = this.#keepRenewing(done.signal);
    try {
      await handler(this.#claimed, this);
    } catch (error) {
      const fields = { kind: this.kind, id: this.#latest.id, error: String(error) };
      if (this.signal.aborted) logger.debug(fields, "work was interrupted");
      else logger.warn(fields, "work failed; it is repeated when its lease expires");
    } finally {
      stopping.removeEventListener("abort", stop);
      done.abort();
      await renewals;
      if (stopping.aborted) await this.release();
      this.#end();
    }
  }

  /** Shortens the lease, so that another edge can claim the work at once. Has no effect on work that has ended. */
  async release(): Promise<void> {
    const { kind, id } = this.#latest;
    await ignore(this.#deps.records.renew({ kind, id, claim: this.claim }, RELEASE_MS), "the lease then ends by itself");
  }

  /** Renews the lease. If that fails, the lease stays valid until it expires. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /** The same, and what it reads is newer than this call: a renewal that is under way may have been answered before. */
  async renewAnew(): Promise<void> {
    await this.#renewing;
    await this.renew();
  }

  async #renew(): Promise<void> {
    const { records, clock, leaseMs, logger } = this.#deps;
    const { kind, id } = this.#latest;
    const askedAtMs = clock.monotonicMs();
    try {
      const held = await records.renew<unknown>({ kind, id, claim: this.claim }, leaseMs);
      if (!held) return this.#abort.abort(new AppError("RECORD_CHANGED", "Another edge has claimed this record."));
      this.#leasedAtMs = askedAtMs;
      this.#update(held);
    } catch (error) {
      logger.debug({ kind, id, error: String(error) }, "a claim could not be renewed");
      if (clock.monotonicMs() - this.#leasedAtMs >= leaseMs) this.#abort.abort(error);
    }
  }

  #update({ record, caller }: Claimed): void {
    const isNews = record.revision !== this.#latest.revision;
    this.#latest = record;
    this.#caller = caller;
    if (isNews) for (const listener of this.#listeners) listener(record);
  }

  async #keepRenewing(done: AbortSignal): Promise<void> {
    const { clock, renewMs } = this.#deps;
    while (!done.aborted && !this.signal.aborted) {
      await pause(clock, renewMs, AbortSignal.any([done, this.signal]));
      if (!done.aborted && !this.signal.aborted) await this.renew();
    }
  }
}
