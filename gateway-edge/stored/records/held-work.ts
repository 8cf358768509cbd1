import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Logger } from "../../../common/logger.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Claimed, RecordKind, RecordOf, RecordStore } from "./records.ts";
import type { Handler, Work } from "./work.ts";

export interface HoldDeps {
  readonly records: Pick<RecordStore, "renew">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly leaseMs: number;
  readonly renewMs: number;
}

/** The shortest lease there is: it is over before anybody asks. */
const RELEASE_MS = 100;

/** One claim: renewed while its handler runs, given back when the edge stops, and never believed longer than its lease. */
export class HeldWork implements Work {
  readonly kind: RecordKind;
  readonly claim: string;
  readonly ended: Promise<void>;
  readonly #deps: HoldDeps;
  readonly #claimed: Claimed;
  readonly #abort = new AbortController();
  readonly #end: () => void;
  readonly #listeners: ((record: RecordOf<unknown>) => void)[] = [];
  #latest: RecordOf<unknown>;
  #caller: Caller | undefined;
  /** When the request was sent that began the lease: it ends no earlier than this plus its length. */
  #leasedAtMs: number;
  #renewing: Promise<void> | undefined;

  constructor(claimed: Claimed, deps: HoldDeps) {
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

  /** Runs the handler; resolves when it has ended, whatever came of it. */
  async run(handler: Handler, stopping: AbortSignal): Promise<void> {
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
      else logger.warn(fields, "work failed; it is done again when its lease has run out");
    } finally {
      stopping.removeEventListener("abort", stop);
      done.abort();
      await renewals;
      if (stopping.aborted) await this.release();
      this.#end();
    }
  }

  /** Lets go, so that another may take it at once. Work that has ended is not touched: its claim is gone. */
  async release(): Promise<void> {
    const { kind, id } = this.#latest;
    await this.#deps.records.renew({ kind, id, claim: this.claim }, RELEASE_MS).catch(() => undefined);
  }

  /** Begins the lease anew. One that cannot be renewed is believed until it would have run out, and no longer. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renew(): Promise<void> {
    const { records, clock, leaseMs, logger } = this.#deps;
    const { kind, id } = this.#latest;
    const askedAtMs = clock.monotonicMs();
    try {
      const held = await records.renew<unknown>({ kind, id, claim: this.claim }, leaseMs);
      if (!held) return this.#abort.abort(new AppError("RECORD_CHANGED", "Somebody else works on it now."));
      this.#leasedAtMs = askedAtMs;
      this.#see(held);
    } catch (error) {
      logger.debug({ kind, id, error: String(error) }, "a claim could not be renewed");
      if (clock.monotonicMs() - this.#leasedAtMs >= leaseMs) this.#abort.abort(error);
    }
  }

  #see({ record, caller }: Claimed): void {
    const isNews = record.revision !== this.#latest.revision;
    this.#latest = record;
    this.#caller = caller;
    if (isNews) for (const listener of this.#listeners) listener(record);
  }

  async #keepRenewing(done: AbortSignal): Promise<void> {
    const { clock, renewMs } = this.#deps;
    while (!done.aborted && !this.signal.aborted) {
      await clock.sleep(renewMs, AbortSignal.any([done, this.signal])).catch(() => {});
      if (!done.aborted && !this.signal.aborted) await this.renew();
    }
  }
}
