import type { UsageBucket } from "../../api/types.ts";
import { formatUsd, usdNumber } from "../../format/money.ts";

export interface Metric {
  readonly label: string;
  readonly unit: string;
  readonly of: (bucket: UsageBucket) => number;
  readonly format: (value: number) => string;
}

const plain = (value: number): string => value.toLocaleString("en-US");

/** Metrics that add up and can be stacked; latency does not. */
export const METRICS = {
  cost: { label: "Cost", unit: "USD", of: ({ costUsd }) => usdNumber(costUsd), format: (value) => formatUsd(value.toFixed(9)) },
  requests: { label: "Requests", unit: "calls", of: ({ requests }) => requests, format: plain },
  errors: { label: "Errors", unit: "calls", of: ({ errors }) => errors, format: plain },
  total: { label: "Tokens", unit: "tokens", of: ({ total }) => total, format: plain },
  input: { label: "Input", unit: "tokens", of: ({ input }) => input, format: plain },
  cachedInput: { label: "Cached", unit: "tokens", of: ({ cachedInput }) => cachedInput, format: plain },
  output: { label: "Output", unit: "tokens", of: ({ output }) => output, format: plain },
} as const satisfies Record<string, Metric>;
export type MetricName = keyof typeof METRICS;

export const GROUPS = { model: "Model", key: "Key", team: "Team", user: "User" } as const;
export type GroupName = keyof typeof GROUPS;

export interface GroupSum {
  readonly group: string;
  readonly latencyCount: number;
  readonly latencyMsSum: number;
  readonly requests: number;
  readonly errors: number;
  readonly total: number;
  /** Exact sum in nano-USD. */
  readonly costNano: bigint;
}

/** Totals of each group over all buckets, highest cost first. */
export function sumByGroup(buckets: readonly UsageBucket[], nanoOf: (usd: string) => bigint): GroupSum[] {
  const sums = new Map<string, GroupSum>();
  for (const bucket of buckets) {
    const group = bucket.group ?? "";
    const sum = sums.get(group) ?? { group, latencyCount: 0, latencyMsSum: 0, requests: 0, errors: 0, total: 0, costNano: 0n };
    sums.set(group, {
      group,
      latencyCount: sum.latencyCount + bucket.latencyCount,
      latencyMsSum: sum.latencyMsSum + bucket.latencyMsSum,
      requests: sum.requests + bucket.requests,
      errors: sum.errors + bucket.errors,
      total: sum.total + bucket.total,
      costNano: sum.costNano + nanoOf(bucket.costUsd),
    });
  }
  return [...sums.values()].sort((left, right) =>
    right.costNano === left.costNano ? right.requests - left.requests : right.costNano > left.costNano ? 1 : -1,
  );
}
