import { nanoUsd } from "../../../common/money.ts";
import type { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { cost } from "../pricing/price.ts";
import { NO_USAGE, toWireUsage } from "../pricing/usage.ts";
import type { Intent, Progress, ServedRecord } from "./records.ts";

/** The journal records of a call without a final. */
export interface OpenRecords {
  readonly intent: Intent;
  readonly served: ServedRecord | undefined;
  readonly progress: Progress | undefined;
}

/** The error code of a row that recovery made after the gateway died during the call. */
const RECOVERED_CODE = "GATEWAY_RESTARTED";

/** As for a client that disconnected: no status was sent. */
const CUT_OFF_STATUS = 499;

/**
 * The row of a call during which the gateway died: what is known to be delivered is billed, at the prices of the served record. It depends
 * on the records alone and on no clock, so that a second recovery gives the same row.
 */
export function recoveredLog({ intent, served, progress }: OpenRecords): UsageLog {
  const elapsedMs = progress?.elapsedMs ?? 0;
  const usage = progress?.usage ?? NO_USAGE;
  const { createdAtMs, worstCase, tags, ...identity } = intent;
  return {
    ...identity,
    createdAt: new Date(createdAtMs),
    completedAt: new Date(createdAtMs + elapsedMs),
    model: served?.model ?? intent.model,
    deploymentId: served?.deploymentId ?? "",
    provider: served?.provider ?? "",
    type: served?.type ?? intent.type,
    status: "cancelled",
    httpStatus: CUT_OFF_STATUS,
    errorCode: RECOVERED_CODE,
    usage: toWireUsage({ ...usage, source: "estimated" }),
    // Without an answer there is nothing to bill.
    cost: served?.prices ? cost(usage, served.prices) : nanoUsd(0n),
    priceVersion: served?.priceVersion ?? 0,
    cacheHit: false,
    attempts: served?.attempts ?? 1,
    fallbackFrom: served?.fallbackFrom,
    latencyMs: Math.round(elapsedMs),
    firstTokenMs: progress?.firstTokenMs,
    overheadUs: 0,
    tags: [...tags],
    attemptsDetail: [],
    reserved: worstCase,
  };
}
