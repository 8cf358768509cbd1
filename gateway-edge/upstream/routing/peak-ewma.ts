/**
 * A latency that rises at once and falls slowly: a sample above the average replaces it, one below lowers it by the time since the last.
 * Without samples it decays, so that a deployment that was slow once is tried again.
 */
export class PeakEwma {
  readonly #tauMs: number;
  #value = 0;
  #atMs = 0;

  constructor(tauMs: number) {
    this.#tauMs = tauMs;
  }

  observe(sample: number, nowMs: number): void {
    const value = this.read(nowMs);
    const remaining = this.#remainingAfter(nowMs);
    this.#value = sample > value ? sample : this.#value * remaining + sample * (1 - remaining);
    this.#atMs = nowMs;
  }

  /** 0 = unknown or decayed. */
  read(nowMs: number): number {
    return this.#value * this.#remainingAfter(nowMs);
  }

  #remainingAfter(nowMs: number): number {
    return this.#tauMs <= 0 ? 0 : Math.exp(-Math.max(0, nowMs - this.#atMs) / this.#tauMs);
  }
}
