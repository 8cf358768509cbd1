import { createHash } from "node:crypto";
import type { Rollup, UsageRow } from "./records.ts";

/** Every zone's offset is a multiple of this, so hours and days of any zone are whole numbers of buckets. */
export const ROLLUP_MS = 15 * 60 * 1000;

/** Of everything an edge reports about a call. Two reports of one call must agree in it. */
export function usageContentHash(row: Omit<UsageRow, "contentHash" | "ledgerSeq">): string {
  const text = JSON.stringify(row, (_key, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
  return createHash("sha256").update(text).digest("base64url");
}

/** The roll-up that a call is counted in; `sums` of one call. */
export function rollupOf(row: UsageRow): Rollup {
  const bucketAt = Math.floor(row.createdAt / ROLLUP_MS) * ROLLUP_MS;
  const userId = row.userId ?? 0;
  const dimensions = [row.organizationId, bucketAt, row.teamId, row.apiKeyId, userId, row.status, row.provider, row.model];
  return {
    id: createHash("sha256").update(JSON.stringify(dimensions)).digest("base64url"),
    organizationId: row.organizationId,
    bucketAt,
    teamId: row.teamId,
    apiKeyId: row.apiKeyId,
    userId,
    model: row.model,
    provider: row.provider,
    status: row.status,
    requests: 1,
    errors: row.status === "error" ? 1 : 0,
    input: row.usage.input,
    cachedInput: row.usage.cachedInput,
    output: row.usage.output,
    total: row.usage.total,
    cost: row.cost,
  };
}

export function addRollups(left: Rollup, right: Rollup): Rollup {
  return {
    ...left,
    requests: left.requests + right.requests,
    errors: left.errors + right.errors,
    input: left.input + right.input,
    cachedInput: left.cachedInput + right.cachedInput,
    output: left.output + right.output,
    total: left.total + right.total,
    cost: left.cost + right.cost,
  };
}
