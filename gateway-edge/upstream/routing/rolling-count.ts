/** A count over the last `bucketMs × buckets` milliseconds in fixed memory. Old buckets are dropped as a whole. */
export class RollingCount {
  readonly #bucketMs: number;
  readonly #counts: number[];
  #newest = 0;

  constructor({ bucketMs, buckets }: { bucketMs: number; buckets: number }) {
    this.#bucketMs = bucketMs;
    this.#counts = new Array<number>(buckets).fill(0);
  }

  add(nowMs: number, amount = 1): void {
    const slot = this.#slot(nowMs);
    this.#counts[slot] = (this.#counts[slot] ?? 0) + amount;
  }

  sum(nowMs: number): number {
    this.#slot(nowMs);
    return this.#counts.reduce((total, count) => total + count, 0);
  }

  clear(): void {
    this.#counts.fill(0);
  }

  #slot(nowMs: number): number {
    const bucket = Math.max(Math.floor(nowMs / this.#bucketMs), this.#newest);
    const passed = Math.min(bucket - this.#newest, this.#counts.length);
    for (let step = 1; step <= passed; step++) this.#counts[(this.#newest + step) % this.#counts.length] = 0;
    this.#newest = bucket;
    return bucket % this.#counts.length;
  }
}
