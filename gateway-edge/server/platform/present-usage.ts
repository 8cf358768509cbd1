import type { z } from "zod";
import type { Totals, UsageBucket, UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type * as records from "../../schemas/records.ts";
import { money, sent } from "./present.ts";

export function presentUsageLog(log: UsageLog): z.infer<typeof records.usageLogRecord> {
  const { input, cachedInput, cacheWrite, output, reasoning, audio, total, source } = sent(log.usage, "usage");
  return {
    id: log.callId,
    callId: log.callId,
    createdAt: sent(log.createdAt, "createdAt"),
    completedAt: sent(log.completedAt, "completedAt"),
    organizationId: log.organizationId,
    team_id: log.teamId,
    teamId: log.teamId,
    teamName: log.teamName,
    apiKeyId: log.apiKeyId,
    apiKeyName: log.apiKeyName,
    maskedKey: log.maskedKey,
    userId: log.userId ?? null,
    endUser: log.endUser ?? null,
    endpoint: log.endpoint,
    model: log.model,
    deploymentId: log.deploymentId,
    provider: log.provider,
    type: log.type,
    stream: log.stream,
    status: log.status,
    httpStatus: log.httpStatus,
    errorCode: log.errorCode ?? null,
    usage: {
      input,
      cachedInput,
      cacheWrite,
      output,
      reasoning,
      audio,
      total,
      source,
      ...presentHour(log),
      ...presentAmounts(log),
      ...presentImage(log),
    },
    ...money("cost", log.cost),
    priceVersion: log.priceVersion,
    cacheHit: log.cacheHit,
    attempts: log.attempts,
    fallbackFrom: log.fallbackFrom ?? null,
    latencyMs: log.latencyMs,
    firstTokenMs: log.firstTokenMs ?? null,
    overheadUs: log.overheadUs,
    tags: log.tags,
    ledgerSeq: log.ledgerSeq ?? null,
    providerModel: log.providerModel ?? null,
    attemptsDetail: presentAttempts(log),
    reserved: log.reserved ?? null,
    reason: log.reason ?? null,
    refused: log.status === "refused" ? (log.refused ?? 1n) : 0n,
  };
}

/** A call without a failed attempt is its only attempt, if it reached a deployment. */
function presentAttempts({ attemptsDetail, cacheHit, deploymentId, provider, httpStatus, latencyMs }: UsageLog) {
  if (attemptsDetail.length > 0)
    return attemptsDetail.map(({ status = null, errorText = null, ...attempt }) => ({ ...attempt, status, errorText }));
  return cacheHit || deploymentId === "" ? [] : [{ deploymentId, provider, status: httpStatus, errorText: null, latencyMs }];
}

function presentHour({ usage }: UsageLog) {
  return usage?.cacheWriteHour === undefined ? {} : { cacheWriteHour: usage.cacheWriteHour };
}

function presentImage({ usage }: UsageLog) {
  return usage?.image === undefined ? {} : { image: usage.image };
}

/** Amounts in other units than tokens. */
function presentAmounts({ usage }: UsageLog) {
  const amounts = usage?.amounts?.amounts;
  return amounts && { amounts: Object.fromEntries(amounts.map(({ unit, input, output }) => [unit, { input, output }])) };
}

export function presentTotals(totals: Totals | undefined): z.infer<typeof records.totalsRecord> {
  const { requests, tokens, cost, refused } = sent(totals, "totals");
  return { requests, tokens, ...money("cost", cost), refused };
}

export function presentUsageBucket(bucket: UsageBucket): z.infer<typeof records.usageBucketRecord> {
  const { group, requests, errors, input, cachedInput, output, total, cost, latencyCount, latencyMsSum } = bucket;
  return {
    bucket: bucket.bucket,
    group: group === "" ? null : group,
    requests,
    errors,
    input,
    cachedInput,
    output,
    total,
    ...money("cost", cost),
    latencyCount,
    latencyMsSum,
    latencyMsP50: rounded(bucket.latencyMsP50),
    latencyMsP95: rounded(bucket.latencyMsP95),
  };
}

function rounded(latencyMs: number | undefined): number | null {
  return latencyMs === undefined ? null : Math.round(latencyMs);
}
