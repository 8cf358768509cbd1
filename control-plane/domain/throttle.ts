/** Counts failures per name in a sliding window and says how long a name that failed too often must wait. Bounded in memory. */
export class Throttle {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #namesMax: number;
  readonly #failures = new Map<string, number[]>();

  constructor(options: { limit: number; windowMs: number; namesMax?: number }) {
    this.#limit = options.limit;
    this.#windowMs = options.windowMs;
    this.#namesMax = options.namesMax ?? 100_000;
  }

  /** Milliseconds until the next try is allowed; 0 = now. */
  waitMs(name: string, now: number): number {
    const recent = this.#recent(name, now);
    const oldest = recent.at(-this.#limit);
    return oldest === undefined ? 0 : oldest + this.#windowMs - now;
  }

  fail(name: string, now: number): void {
    const recent = this.#recent(name, now);
    recent.push(now);
    // Newest last in the map too, so that the bound drops whoever failed longest ago.
    this.#failures.delete(name);
    this.#failures.set(name, recent.slice(-this.#limit));
    if (this.#failures.size > this.#namesMax) {
      const [oldest] = this.#failures.keys();
      if (oldest !== undefined) this.#failures.delete(oldest);
    }
  }

  succeed(name: string): void {
    this.#failures.delete(name);
  }

  #recent(name: string, now: number): number[] {
    return (this.#failures.get(name) ?? []).filter((at) => at > now - this.#windowMs);
  }
}
