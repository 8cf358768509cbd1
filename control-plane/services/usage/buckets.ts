import type { UsageBucket } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { addLatencyCounts, latencyPercentile } from "../../domain/latency.ts";
import type { Rollup } from "../../domain/records.ts";

type Sum = Omit<UsageBucket, "latencyMsP50" | "latencyMsP95">;

/** Sums roll-ups by time bucket and group. */
export class UsageBuckets {
  readonly #sums = new Map<string, Sum>();
  readonly #latencies = new Map<string, readonly number[]>();
  /** When each bucket begins: names are no order where the same hour comes twice. */
  readonly #begins = new Map<string, number>();

  add({ bucket, group, at }: { bucket: string; group: string; at: number }, rollup: Rollup): void {
    const key = `${bucket}\n${group}`;
    this.#begins.set(bucket, Math.min(at, this.#begins.get(bucket) ?? at));
    this.#sums.set(key, addTo(this.#sums.get(key) ?? empty(bucket, group), rollup));
    const { latencyCounts } = rollup;
    const before = this.#latencies.get(key);
    if (latencyCounts) this.#latencies.set(key, before ? addLatencyCounts(before, latencyCounts) : latencyCounts);
  }

  sorted(): UsageBucket[] {
    const beginOf = ({ bucket }: Sum) => this.#begins.get(bucket) ?? 0;
    return [...this.#sums.entries()]
      .sort(([, left], [, right]) => beginOf(left) - beginOf(right) || (left.group < right.group ? -1 : 1))
      .map(([key, sum]) => {
        const counts = this.#latencies.get(key) ?? [];
        return { ...sum, latencyMsP50: latencyPercentile(counts, 0.5), latencyMsP95: latencyPercentile(counts, 0.95) };
      });
  }
}

function empty(bucket: string, group: string): Sum {
  return {
    bucket,
    group,
    requests: 0n,
    errors: 0n,
    input: 0n,
    cachedInput: 0n,
    output: 0n,
    total: 0n,
    cost: 0n,
    latencyCount: 0n,
    latencyMsSum: 0n,
  };
}

function addTo(sum: Sum, rollup: Rollup): Sum {
  const isTimed = rollup.latencyMsSum !== undefined;
  return {
    ...sum,
    requests: sum.requests + BigInt(rollup.requests),
    errors: sum.errors + BigInt(rollup.errors),
    input: sum.input + BigInt(rollup.input),
    cachedInput: sum.cachedInput + BigInt(rollup.cachedInput),
    output: sum.output + BigInt(rollup.output),
    total: sum.total + BigInt(rollup.total),
    cost: sum.cost + rollup.cost,
    latencyCount: sum.latencyCount + (isTimed ? BigInt(rollup.requests) : 0n),
    latencyMsSum: sum.latencyMsSum + BigInt(rollup.latencyMsSum ?? 0),
  };
}
