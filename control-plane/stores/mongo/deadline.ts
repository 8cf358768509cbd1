import type { Clock } from "../../../common/clock.ts";
import { ignore } from "../../../common/ignore.ts";
import { databaseTimeout } from "./driver-errors.ts";

/**
 * A bound that holds whatever the driver does: the driver's `timeoutMS` has no effect, and its retries add up. The caller gets an answer
 * in time; work that still runs stops at its next `check`.
 */
export class Deadline {
  /** The last problem, reported in the log at the timeout. */
  problem: unknown;
  readonly #clock: Clock;
  readonly #endsAtMs: number;
  readonly #cancel: () => void;
  readonly #expiry: Promise<never>;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + limitMs;
    const { promise, reject } = Promise.withResolvers<never>();
    this.#expiry = promise;
    void ignore(promise, "bound() reports it");
    this.#cancel = clock.after(limitMs, () => reject(this.#timeout()));
  }

  get remainingMs(): number {
    return Math.max(0, this.#endsAtMs - this.#clock.monotonicMs());
  }

  check(): void {
    if (this.remainingMs === 0) throw this.#timeout();
  }

  bound<T>(operation: Promise<T>): Promise<T> {
    return Promise.race([operation, this.#expiry]);
  }

  clear(): void {
    this.#cancel();
  }

  #timeout() {
    return databaseTimeout("mongo deadline", this.problem);
  }
}

/** Runs one operation with its own deadline. */
export async function within<T>(clock: Clock, limitMs: number, operation: Promise<T>): Promise<T> {
  const deadline = new Deadline(clock, limitMs);
  try {
    return await deadline.bound(operation);
  } finally {
    deadline.clear();
  }
}
