import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { AttemptDetail, UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type CallIdentity, callerIdentity } from "../../credit/call-identity.ts";
import type { Intent, ServedRecord } from "../../credit/journal/records.ts";
import { pricesAt } from "../../credit/pricing/price-tier.ts";
import { toWireUsage } from "../../credit/pricing/usage.ts";
import type { Provider } from "../../upstream/providers/provider.ts";
import type { Bill, Outcome } from "./bill.ts";
import { inputReads, type Job } from "./job.ts";
import { pricesOf } from "./plan-call.ts";

export interface Metered {
  readonly callId: string;
  readonly onceFor?: string | undefined;
  readonly endpoint: string;
  readonly caller: Caller;
  readonly job: Job<unknown>;
  /** As counted before the call, for its reservation. */
  readonly inputTokens: number;
  /** For each choice, as the provider is asked. */
  readonly maxOutputTokens: number;
}

/** The deployment that answered, and its provider. */
export interface ServedDeployment {
  readonly attempt: { readonly deployment: Deployment; readonly group: string; readonly isFallback: boolean };
  readonly provider: Provider;
}

const END_USER_CHARACTERS_MAX = 256;

/** The status that logs show for a client that disconnected; it is never sent. */
const CLIENT_LEFT_STATUS = 499;

/** The intent record of a call. */
export function intentOf(call: Metered, at: { createdAtMs: number; worstCase: bigint }): Intent {
  return { ...callIdentity(call), createdAtMs: at.createdAtMs, worstCase: at.worstCase, tags: rowTags(call.job) };
}

/** The journal record of the deployment that answers. */
export function servedRecordOf(call: Metered, served: ServedDeployment, attempts: number): ServedRecord {
  const { deploymentId, provider, model, type } = answeredBy(call, served);
  const { deployment, isFallback } = served.attempt;
  const prices = pricesOf(deployment, call.job);
  return {
    callId: call.callId,
    deploymentId,
    provider,
    model,
    type,
    priceVersion: deployment.model?.pricing?.version ?? 0,
    prices: prices && pricesAt(prices, { inputTokens: call.inputTokens / inputReads(call.job, served), image: call.job.image }),
    attempts,
    fallbackFrom: isFallback ? call.job.model : undefined,
  };
}

/** When a call started and ended, and how long its parts took. */
export interface Timing {
  readonly createdAt: Date;
  readonly completedAt: Date;
  readonly latencyMs: number;
  readonly firstTokenMs: number | undefined;
  readonly overheadMs: number;
}

export interface EndedCall {
  readonly call: Metered;
  readonly served: ServedDeployment | undefined;
  readonly attempts: number;
  /** Every attempt, if one failed. */
  readonly attemptsDetail: AttemptDetail[] | undefined;
  readonly reserved: bigint;
  readonly timing: Timing;
}

/** The row of a call that has ended. */
export function rowOf(
  { call, served, attempts, attemptsDetail = [], reserved, timing }: EndedCall,
  outcome: Outcome,
  { usage, cost }: Bill,
): UsageLog {
  const { caller, job } = call;
  const { model, deploymentId, provider, type, providerModel } = answeredBy(call, served);
  // Every field by its name: a row that is put together from parts costs five times as much, and one is made for each call.
  return {
    callId: call.callId,
    createdAt: timing.createdAt,
    completedAt: timing.completedAt,
    organizationId: caller.organizationId,
    teamId: caller.teamId,
    teamName: caller.teamName,
    apiKeyId: caller.keyId,
    apiKeyName: caller.keyName,
    maskedKey: caller.maskedKey,
    userId: caller.userId,
    endUser: endUserOf(job),
    endpoint: call.endpoint,
    model,
    deploymentId,
    provider,
    type,
    stream: job.stream,
    status: outcome.status,
    httpStatus: outcome.status === "error" ? outcome.httpStatus : outcome.status === "cancelled" ? CLIENT_LEFT_STATUS : 200,
    errorCode: errorCodeOf(outcome),
    usage: toWireUsage(usage),
    cost,
    priceVersion: served?.attempt.deployment.model?.pricing?.version ?? 0,
    cacheHit: false,
    attempts,
    fallbackFrom: served?.attempt.isFallback ? job.model : undefined,
    latencyMs: Math.round(timing.latencyMs),
    firstTokenMs: rounded(timing.firstTokenMs),
    overheadUs: Math.round(timing.overheadMs * 1000),
    tags: rowTags(job),
    onceFor: call.onceFor,
    providerModel,
    attemptsDetail,
    reserved,
  };
}

/** All tags of a call, as its row has them. */
export function rowTags({ tags, logTags }: Pick<Job<unknown>, "tags" | "logTags">): string[] {
  return logTags ? [...logTags, ...tags] : [...tags];
}

type IdentifiedCall = Pick<Metered, "callId" | "onceFor" | "endpoint" | "caller" | "job">;

/** The identity of a call before a deployment answers. */
function callIdentity({ callId, onceFor, endpoint, caller, job }: IdentifiedCall): CallIdentity {
  const { model, operation: type, stream } = job;
  return { ...callerIdentity(caller), callId, onceFor, endpoint, endUser: endUserOf(job), model, type, stream };
}

/** Who called which model, and which deployment answered, as fields of the row. */
export function identityOf(call: IdentifiedCall, served: Pick<ServedDeployment, "attempt"> | undefined) {
  return { ...callIdentity(call), ...answeredBy(call, served) };
}

function answeredBy({ job }: IdentifiedCall, served: Pick<ServedDeployment, "attempt"> | undefined) {
  const deployment = served?.attempt.deployment;
  return {
    // The requested name, also when it is an alias; after a fallback the group that answered.
    model: served?.attempt.isFallback ? served.attempt.group : job.model,
    deploymentId: deployment?.id ?? "",
    provider: deployment?.model?.providerName || deployment?.providerKind || "",
    type: deployment?.model?.type ?? job.operation,
    providerModel: deployment?.inferenceModelId,
  };
}

function errorCodeOf(outcome: Outcome): string | undefined {
  if (outcome.status === "error") return outcome.error.code;
  return outcome.status === "success" && outcome.isCutShort ? "QUOTA_EXCEEDED" : undefined;
}

/** A label for the log. It is truncated because a row has to fit into a message. */
function endUserOf({ endUser }: Job<unknown>): string | undefined {
  return endUser?.slice(0, END_USER_CHARACTERS_MAX);
}

export function rounded(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.round(milliseconds);
}
