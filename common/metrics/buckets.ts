/** Counts of a histogram as plain numbers: an observation is two additions and allocates nothing. */
export class Buckets {
  readonly bounds: readonly number[];
  /** Observations up to each bound and above the one before it; the last are those above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index++;
    counts[index] = (counts[index] as number) + 1;
    this.sum += value;
  }

  /** Values of the series `_bucket` by their `le`, as Prometheus sums them up; the last is the count. */
  cumulative(): { readonly le: string; readonly value: number }[] {
    let value = 0;
    return this.counts.map((count, index) => {
      value += count;
      return { le: index < this.bounds.length ? String(this.bounds[index]) : "+Inf", value };
    });
  }
}
