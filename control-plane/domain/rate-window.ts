const SECONDS = 60;
/** How many seconds ahead an amount may be counted. */
const AHEAD = 2;
const BUCKETS = SECONDS + AHEAD;

/** A sliding window of one minute with a bucket per second, and a few buckets for seconds ahead. */
export class RateWindow {
  readonly #buckets = new Float64Array(BUCKETS);
  #second = 0;
  /** Of all buckets; amounts are whole numbers, so that it is exact. */
  #total = 0;

  /** Returns the second under which the amount is counted; `aheadSeconds` after now if it may be used until then. */
  add(amount: number, nowMs: number, aheadSeconds = 0): number {
    this.#advance(nowMs);
    const second = this.#second + Math.min(aheadSeconds, AHEAD);
    this.#set(second, this.#at(second) + amount);
    return second;
  }

  /** Subtracts an amount that was counted under a second and not used. */
  takeBack(amount: number, second: number, nowMs: number): void {
    this.#advance(nowMs);
    if (second > this.#second - SECONDS) this.#set(second, Math.max(0, this.#at(second) - amount));
  }

  sum(nowMs: number): number {
    this.#advance(nowMs);
    return this.#total;
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

  #set(second: number, amount: number): void {
    this.#total += amount - this.#at(second);
    this.#buckets[second % BUCKETS] = amount;
  }

  #advance(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    const passed = Math.min(second - this.#second, BUCKETS);
    for (let step = 0; step < passed; step++) this.#set(second + AHEAD - step, 0);
    if (second > this.#second) this.#second = second;
  }
}
