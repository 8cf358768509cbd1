/**
 * A latency that rises at once and falls slowly: a sample above the average replaces it, one below pulls it down by how long ago the
 * last was. Without samples it fades, so that a deployment that was slow once is tried again.
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
    const kept = this.#keptAfter(nowMs);
    this.#value = sample > value ? sample : this.#value * kept + sample * (1 - kept);
    this.#atMs = nowMs;
  }

  /** 0 = unknown or forgotten. */
  read(nowMs: number): number {
    return this.#value * this.#keptAfter(nowMs);
  }

  #keptAfter(nowMs: number): number {
    return this.#tauMs <= 0 ? 0 : Math.exp(-Math.max(0, nowMs - this.#atMs) / this.#tauMs);
  }
}
