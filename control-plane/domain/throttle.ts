/** Counts attempts per name in a sliding window, and how long a name has to wait after its last allowed attempt. Bounded in memory. */
export class Throttle {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #namesMax: number;
  readonly #attempts = new Map<string, number[]>();

  constructor(options: { limit: number; windowMs: number; namesMax?: number }) {
    this.#limit = options.limit;
    this.#windowMs = options.windowMs;
    this.#namesMax = options.namesMax ?? 100_000;
  }

  /** Milliseconds until the next attempt is allowed; 0 = now. */
  waitMs(name: string, now: number): number {
    const recent = this.#recent(name, now);
    const oldest = recent.at(-this.#limit);
    return oldest === undefined ? 0 : oldest + this.#windowMs - now;
  }

  take(name: string, now: number): void {
    const recent = this.#recent(name, now);
    recent.push(now);
    // Re-inserted at the end of the map, so that the bound drops the name whose last attempt is the oldest.
    this.#attempts.delete(name);
    this.#attempts.set(name, recent.slice(-this.#limit));
    if (this.#attempts.size > this.#namesMax) {
      const [oldest] = this.#attempts.keys();
      if (oldest !== undefined) this.#attempts.delete(oldest);
    }
  }

  /** Removes one attempt that was counted at that time. */
  giveBack(name: string, takenAt: number): void {
    const attempts = this.#attempts.get(name);
    const index = attempts?.indexOf(takenAt) ?? -1;
    if (!attempts || index === -1) return;
    if (attempts.length === 1) this.#attempts.delete(name);
    else attempts.splice(index, 1);
  }

  #recent(name: string, now: number): number[] {
    return (this.#attempts.get(name) ?? []).filter((at) => at > now - this.#windowMs);
  }
}
