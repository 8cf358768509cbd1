const SECONDS = 60;

/** How much happened in the last minute, to the second: 60 buckets, one per second. */
export class RateWindow {
  readonly #buckets = new Float64Array(SECONDS);
  #second = 0;

  add(amount: number, nowMs: number): void {
    this.#advance(nowMs);
    const bucket = this.#second % SECONDS;
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + amount;
  }

  sum(nowMs: number): number {
    this.#advance(nowMs);
    return this.#buckets.reduce((total, bucket) => total + bucket, 0);
  }

  /** Seconds until `amount` more would fit under `limit`. */
  secondsUntilFits(amount: number, limit: number, nowMs: number): number {
    let total = this.sum(nowMs);
    for (let age = SECONDS - 1; age >= 0; age--) {
      if (total + amount <= limit) return SECONDS - 1 - age;
      total -= this.#buckets[(this.#second - age + SECONDS) % SECONDS] ?? 0;
    }
    return SECONDS;
  }

  #advance(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    const passed = Math.min(second - this.#second, SECONDS);
    for (let step = 1; step <= passed; step++) this.#buckets[(second - step + 1) % SECONDS] = 0;
    if (second > this.#second) this.#second = second;
  }
}
