import { hash } from "node:crypto";
import { addLatencyCounts, countLatency, noLatencies } from "./latency.ts";
import type { Rollup, UsageRow } from "./records.ts";

/** The offset of every time zone is a multiple of this, so hours and days of any zone consist of whole buckets. */
export const ROLLUP_MS = 15 * 60 * 1000;

/** Hash of everything an edge reports about a call. Two reports of one call must have the same hash. */
export function usageContentHash({ cost, ...rest }: Omit<UsageRow, "contentHash" | "ledgerSeq" | "reportedCost">): string {
  // JSON.stringify cannot serialize bigint, and a replacer that visits every field costs more than the hash.
  return reportedHash(cost, JSON.stringify(rest));
}

/** The same hash, of a row without its cost as `rowText` writes it. */
export function reportedHash(cost: bigint, text: string): string {
  return hash("sha256", `${cost} ${text}`, "base64url");
}

/** The summed fields of a roll-up. */
type Counts = Pick<
  Rollup,
  "requests" | "errors" | "input" | "cachedInput" | "output" | "total" | "cost" | "refused" | "latencyMsSum" | "latencyCounts"
>;

/** Key of the roll-up that counts a call; equal for calls of one roll-up, and cheaper than its id. */
export function rollupKey(row: UsageRow): string {
  const { organizationId, teamId, apiKeyId, userId, status, provider, model } = row;
  return JSON.stringify([organizationId, bucketOf(row), teamId, apiKeyId, userId ?? 0, status, provider, model]);
}

/** Whether two calls belong to the same roll-up, without building its key, because most calls of a batch do. */
export function isSameRollup(left: UsageRow, right: UsageRow): boolean {
  return (
    left.apiKeyId === right.apiKeyId &&
    left.model === right.model &&
    left.status === right.status &&
    left.provider === right.provider &&
    left.userId === right.userId &&
    left.teamId === right.teamId &&
    left.organizationId === right.organizationId &&
    bucketOf(left) === bucketOf(right)
  );
}

/** A roll-up that contains one call. */
export function rollupOf(row: UsageRow): Rollup {
  const sum: Rollup = {
    id: hash("sha256", rollupKey(row), "base64url"),
    organizationId: row.organizationId,
    bucketAt: bucketOf(row),
    teamId: row.teamId,
    apiKeyId: row.apiKeyId,
    userId: row.userId ?? 0,
    model: row.model,
    provider: row.provider,
    status: row.status,
    requests: 0,
    errors: 0,
    input: 0,
    cachedInput: 0,
    output: 0,
    total: 0,
    cost: 0n,
    latencyMsSum: 0,
    latencyCounts: noLatencies(),
  };
  addCall(sum, row);
  return sum;
}

/** Adds a call in place, because a batch adds hundreds of calls to one roll-up. The caller must own `sum`. */
export function addCall(sum: Rollup, row: UsageRow): void {
  const { input, cachedInput, output, total } = row.usage;
  sum.requests++;
  if (row.status === "error") sum.errors++;
  if (row.status === "refused") sum.refused = (sum.refused ?? 0) + (row.refused ?? 1);
  sum.input += input;
  sum.cachedInput += cachedInput;
  sum.output += output;
  sum.total += total;
  sum.cost += row.cost;
  if (sum.latencyMsSum === undefined || sum.latencyCounts === undefined) return;
  sum.latencyMsSum += row.latencyMs;
  countLatency(sum.latencyCounts, row.latencyMs);
}

export function addRollups(left: Rollup, right: Counts): Rollup {
  return {
    ...left,
    requests: left.requests + right.requests,
    errors: left.errors + right.errors,
    input: left.input + right.input,
    cachedInput: left.cachedInput + right.cachedInput,
    output: left.output + right.output,
    total: left.total + right.total,
    cost: left.cost + right.cost,
    ...(right.refused === undefined ? {} : { refused: (left.refused ?? 0) + right.refused }),
    ...addLatencies(left, right),
  };
}

/** A roll-up that began without latencies stays without: a partial sum would be taken for the whole. */
function addLatencies(left: Rollup, right: Counts): Pick<Rollup, "latencyMsSum" | "latencyCounts"> {
  if (left.latencyMsSum === undefined || left.latencyCounts === undefined) return {};
  return {
    latencyMsSum: left.latencyMsSum + (right.latencyMsSum ?? 0),
    latencyCounts: addLatencyCounts(left.latencyCounts, right.latencyCounts ?? []),
  };
}

export function bucketOf({ createdAt }: Pick<UsageRow, "createdAt">): number {
  return Math.floor(createdAt / ROLLUP_MS) * ROLLUP_MS;
}
