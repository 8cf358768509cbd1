import type { Clock } from "../../../common/clock.ts";
import { AppError } from "../../../common/errors.ts";
import type { Pacing } from "./counting-pace.ts";

const SLICE_MS = 4;
/** All counts together have a third of the event loop. */
const TURN_MS = 3 * SLICE_MS;
const COUNTS_OF_KEY_MAX = 8;

/**
 * Counts that cost their caller nothing (`token_counter`, `count_tokens`). What does not end in its first slice goes on in turns: one slice at a time
 * for all of them, key after key, so that long texts of one caller delay neither paid calls nor the counts of others.
 */
export class CountingLane {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, (() => void)[]>();
  #isRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For one count of a key. */
  pacingOf(keyId: string): Pacing {
    return { sliceMs: SLICE_MS, rest: () => this.#turn(keyId) };
  }

  async #turn(keyId: string): Promise<void> {
    const own = this.#waiting.get(keyId) ?? [];
    if (own.length >= COUNTS_OF_KEY_MAX) {
      const message = `${COUNTS_OF_KEY_MAX} long texts of this key are being counted. Try again when one of them is done.`;
      throw new AppError("RATE_LIMIT_EXCEEDED", message, { retryAfterSeconds: 1 });
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    own.push(resolve);
    this.#waiting.set(keyId, own);
    if (!this.#isRunning) void this.#run();
    await promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#next(); next; next = this.#next()) {
      next();
      await this.#clock.sleep(TURN_MS);
    }
    this.#isRunning = false;
  }

  /** The first count of the key that had its turn the longest ago. */
  #next(): (() => void) | undefined {
    for (const [keyId, own] of this.#waiting) {
      const first = own.shift();
      this.#waiting.delete(keyId);
      if (own.length > 0) this.#waiting.set(keyId, own);
      return first;
    }
    return undefined;
  }
}
