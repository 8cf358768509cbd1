const SECONDS = 60;
/** How far ahead something may be counted. */
const AHEAD = 2;
const BUCKETS = SECONDS + AHEAD;

/** How much happened in the last minute, to the second: a bucket for each, and a few for what may still happen in the next ones. */
export class RateWindow {
  readonly #buckets = new Float64Array(BUCKETS);
  #second = 0;

  /** Gives the second under which it is counted. `aheadSeconds` later than now: it may happen until then. */
  add(amount: number, nowMs: number, aheadSeconds = 0): number {
    this.#advance(nowMs);
    const second = this.#second + Math.min(aheadSeconds, AHEAD);
    this.#buckets[second % BUCKETS] = this.#at(second) + amount;
    return second;
  }

  /** What was counted under a second and never happened. */
  takeBack(amount: number, second: number, nowMs: number): void {
    this.#advance(nowMs);
    if (second > this.#second - SECONDS) this.#buckets[second % BUCKETS] = Math.max(0, this.#at(second) - amount);
  }

  sum(nowMs: number): number {
    this.#advance(nowMs);
    return this.#buckets.reduce((total, bucket) => total + bucket, 0);
  }

  /** Seconds until `amount` more would fit under `limit`. */
  secondsUntilFits(amount: number, limit: number, nowMs: number): number {
    let total = this.sum(nowMs);
    for (let age = SECONDS - 1; age >= -AHEAD; age--) {
      if (total + amount <= limit) return SECONDS - 1 - age;
      total -= this.#at(this.#second - age);
    }
    return SECONDS + AHEAD;
  }

  #at(second: number): number {
    return this.#buckets[(second + BUCKETS) % BUCKETS] ?? 0;
  }

  #advance(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    const passed = Math.min(second - this.#second, BUCKETS);
    for (let step = 0; step < passed; step++) this.#buckets[(second + AHEAD - step) % BUCKETS] = 0;
    if (second > this.#second) this.#second = second;
  }
}
