import { AppError } from "../../../common/errors.ts";
import { unpricedFeeText, unpricedText } from "../../../common/model-data/unpriced.ts";
import type { NanoUsd } from "../../../common/money.ts";
import type { PriceMessage, PriceUnit } from "../../../common/pricing.ts";
import { findKind } from "../../../common/providers/shared/registry.ts";
import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { affordableOutput, type Prices, worstCaseCost } from "../../credit/pricing/price.ts";
import { dearestPrices } from "../../credit/pricing/price-tier.ts";
import type { ClientParams } from "../../upstream/client-params.ts";
import { targetFor } from "../../upstream/client-target.ts";
import type { Provider, UpstreamRequest } from "../../upstream/providers/provider.ts";
import type { Router } from "../../upstream/routing/route.ts";
import { roughCounter } from "../tokens/tokens.ts";
import { type AbleGroup, ableGroup, MAX_OUTPUT_TOKENS_UNKNOWN, outputLimitOf } from "./able-group.ts";
import { admit } from "./admit.ts";
import { feeAmounts, feesAt, unpricedFee } from "./deployment-fees.ts";
import { inputReads, type Job } from "./job.ts";
import { listedModel, listedPrices } from "./listed-model.ts";
import { mayUseModel } from "./model-access.ts";

/** What a call can cost at the most expensive deployment that may serve it, before anything is reserved or sent. */
export interface CallPlan {
  /** Of all requests that the call needs. */
  readonly inputTokens: number;
  /** Of one request: less than all input where each choice is a request of its own. */
  readonly requestTokens: number;
  /** For each choice, at the most expensive deployment. */
  readonly maxOutputTokens: number;
  readonly worstCase: NanoUsd;
  /** The reservation before the call: its worst case, or less where only the caller limits the length of the answer. */
  readonly reserve: NanoUsd;
  /** The requested model has its own limit. */
  readonly isLimited: boolean;
}

export interface PlanDeps {
  readonly routing: Pick<Router, "candidates" | "fallbacksOf" | "groupOf" | "accessGroups">;
  readonly providers: ReadonlyMap<string, Provider>;
  /** Whether the operator allows dropping unsupported parameters. */
  readonly dropParams: () => boolean;
}

interface PlannedCall {
  readonly caller: Caller;
  readonly job: Job<unknown>;
  readonly alternatives: readonly string[];
  readonly routing: PlannedRouting;
}

/** What happens when a caller requests more output than the model gives. */
export interface OutputRouting {
  /** The caller's choice; undefined: the operator's applies. */
  readonly dropParams: boolean | undefined;
  /** The output limit applies to more than this call: it is lowered to the model's limit, never refused. */
  readonly lowersOutput?: true;
}

/** What the plan needs of a caller's routing options. */
interface PlannedRouting extends OutputRouting {
  readonly client?: ClientParams | undefined;
}

/**
 * The most output tokens to reserve for where the model's limit is not known: otherwise a caller could reserve all credit of its
 * organization with a large number. A stream reserves more as it goes on; a whole answer is not requested longer.
 */
export const RESERVED_OUTPUT_TOKENS_MAX = 131_072;
const FREE: Prices = { input: 0n, output: 0n };

/** Admits a call and prices its worst case; throws why the call cannot be made. */
export function planCall(deps: PlanDeps, call: PlannedCall): CallPlan {
  const { caller, job, alternatives } = call;
  admit({
    caller,
    model: job.model,
    alternatives,
    exists: (model) => deps.routing.groupOf(model, caller) !== undefined,
    mayUse: (model) => mayUseModel(caller, model, deps.routing),
  });
  call.routing.client?.requireAt(deps.routing.candidates(job.model, caller));
  const able = ableFor(deps, call, job.model);
  const [first] = able.deployments;
  if (!first) {
    throw new AppError("INVALID_REQUEST", `The model ${job.model} does not offer this operation.`, { param: "model" });
  }
  refuseTooLong(deps, call, able);
  refuseUnpricedFees(job, able);
  const requestTokens = job.countInput(deps.providers.get(first.providerKind)?.counter ?? roughCounter);
  const plansOf = (group: AbleGroup) => {
    const reads = mostReads(deps, job, group);
    const plans: ReturnType<typeof planAt>[] = [];
    for (const candidate of group.kinds) {
      const known = pricesOf(candidate, job);
      const prices = known && dearestPrices(known, { inputTokens: requestTokens, image: job.image });
      if (prices) plans.push(planAt(candidate, { job, requestTokens, reads, prices }));
    }
    return plans;
  };
  const own = plansOf(able);
  if (own.length === 0) throw new AppError("INVALID_REQUEST", unpricedText(job.model), { param: "model" });
  // A fallback may cost more than the requested model: the reservation covers it too.
  const configured = deps.routing.fallbacksOf(job.model, "general", caller);
  const others = alternatives.length + configured.length === 0 ? [] : [...alternatives, ...configured];
  const all = others.length === 0 ? own : [...own, ...others.flatMap((model) => plansOf(ableFor(deps, call, model)))];
  const { maxOutputTokens, worstCase } = all.reduce((most, plan) => (plan.worstCase > most.worstCase ? plan : most));
  const { reserve } = all.reduce((most, plan) => (plan.reserve > most.reserve ? plan : most));
  const { inputTokens } = all.reduce((most, plan) => (plan.inputTokens > most.inputTokens ? plan : most));
  return { inputTokens, requestTokens, maxOutputTokens, worstCase, reserve, isLimited: able.isLimited };
}

/** How often the input is read at most: deployments of equal prices may differ in it. */
function mostReads({ providers }: PlanDeps, job: Job<unknown>, { deployments }: AbleGroup): number {
  if (job.choiceCount === 1) return 1;
  const readsAt = (deployment: Deployment) =>
    inputReads(job, { provider: providers.get(deployment.providerKind), attempt: { deployment } });
  return deployments.reduce((most, each) => Math.max(most, readsAt(each)), 1);
}

/** The request that a call would send to the first deployment that may serve it. Admitted like a call; nothing is reserved or sent. */
export function previewCall(
  deps: PlanDeps,
  { caller, job, routing }: Omit<PlannedCall, "alternatives">,
): { deployment: Deployment; request: UpstreamRequest } {
  planCall(deps, { caller, job, alternatives: [], routing });
  const dropParams = routing.dropParams ?? deps.dropParams();
  const [deployment] = ableFor(deps, { caller, job, routing }, job.model).deployments;
  const provider = deployment && deps.providers.get(deployment.providerKind);
  if (!deployment || !provider) throw new Error("a plan without a deployment");
  const target = targetFor(deployment, routing.client);
  const [first = job] = job.pieces?.(provider, target)?.jobs ?? [];
  return { deployment, request: first.request({ provider, target, maxOutputTokens: outputAt(deployment, job), dropParams }) };
}

/** Refuses more output than any deployment of the group gives, unless it may be lowered. A deployment without a known limit allows any. */
function refuseTooLong({ dropParams }: PlanDeps, { job, routing }: PlannedCall, { mostOutput: most }: AbleGroup): void {
  const { maxOutputTokens: asked, maxOutputParam: param } = job;
  if (asked === undefined || param === undefined || routing.lowersOutput) return;
  if (asked <= most || (routing.dropParams ?? dropParams())) return;
  const message = `${param} is ${asked}, but the model ${job.model} writes at most ${most} tokens. Lower ${param}, or set drop_params.`;
  throw new AppError("INVALID_REQUEST", message, { param });
}

/** What the provider bills beside the tokens needs a price. */
function refuseUnpricedFees(job: Job<unknown>, { kinds }: AbleGroup): void {
  for (const kind of kinds) {
    const fees = feesAt(kind, job.fees);
    const prices = fees && pricesOf(kind, job);
    // A price by the call or by another unit is for all of it.
    const isOfTokens = (prices?.unit ?? "token") === "token";
    const unpriced = prices && isOfTokens && !findKind(kind.providerKind)?.isFree && unpricedFee(fees, prices);
    if (unpriced)
      throw new AppError("INVALID_REQUEST", unpricedFeeText(job.model, unpriced), { param: job.fees?.[unpriced] ? "tools" : "model" });
  }
}

/** The deployments that may serve a name for this call, at providers that have the operation. */
function ableFor(deps: PlanDeps, { caller, job, routing }: Omit<PlannedCall, "alternatives">, model: string): AbleGroup {
  const candidates = deps.routing.candidates(model, caller);
  const { client } = routing;
  return ableGroup(deps.providers, client ? candidates.filter((each) => client.isAllowedAt(each)) : candidates, job);
}

/**
 * The prices that a deployment is billed at; undefined when none are set, or only for a unit that this operation is not counted in.
 * Moderation is free where it has no price of its own.
 */
export function pricesOf(deployment: Deployment, job: Job<unknown>): PriceMessage | undefined {
  const pricing = (deployment.model?.pricing as PriceMessage | undefined) ?? listedPrices(deployment);
  if (pricing) return isCountedBy(job, pricing.unit ?? "token") ? pricing : undefined;
  return job.operation === "moderations" ? FREE : undefined;
}

function isCountedBy(job: Job<unknown>, unit: PriceUnit): boolean {
  // A job that is not counted in tokens cannot report yet that it was answered.
  if (unit === "call") return job.estimate === undefined;
  return unit === "token" || job.most?.[unit] !== undefined;
}

/** The output limit that a deployment is sent for each choice: the caller's, and never more than the model's. */
export function outputAt(deployment: Deployment, job: Job<unknown>): number {
  const limit = outputLimitOf(deployment);
  const asked = job.maxOutputTokens ?? limit ?? MAX_OUTPUT_TOKENS_UNKNOWN;
  return limit === undefined || asked < limit ? asked : limit;
}

/** The output that each choice may have within the reservation: all of it, or what the credit pays for at this deployment, at least one token. */
export function outputWithin(
  plan: CallPlan,
  { reserved, deployment, job }: { reserved: bigint; deployment: Deployment; job: Job<unknown> },
): number {
  const most = outputAt(deployment, job);
  const prices = reserved >= plan.worstCase || most === 0 ? undefined : pricesOf(deployment, job);
  const tokens = prices && affordableOutput(reserved, plan.inputTokens, dearestPrices(prices, { inputTokens: plan.requestTokens }));
  return tokens === undefined ? most : Math.max(1, Math.min(most, Math.floor(tokens / job.choiceCount)));
}

/** Of four bytes a token, as most languages have; the reservation counts three. */
const READ_SHARE = 0.75;
/** Whatever the estimate leaves. */
const OUTPUT_TOKENS_MIN = 1024;

/**
 * The output for a caller that named no limit: providers refuse input and limit that are longer than the model's context together, which without a
 * limit they would have answered.
 */
export function outputBeside(requestTokens: number, { deployment, most }: { deployment: Deployment; most: number }): number {
  const context = listedModel(deployment)?.contextWindow;
  if (context === undefined) return most;
  return Math.min(most, Math.max(OUTPUT_TOKENS_MIN, context - Math.ceil(requestTokens * READ_SHARE)));
}

type DeploymentPlan = Omit<CallPlan, "isLimited" | "requestTokens">;

function planAt(deployment: Deployment, call: { job: Job<unknown>; requestTokens: number; reads: number; prices: Prices }): DeploymentPlan {
  const { job, reads, prices } = call;
  const inputTokens = call.requestTokens * reads;
  const maxOutputTokens = outputAt(deployment, job);
  const fees = feesAt(deployment, job.fees);
  const amounts = fees ? { ...job.most, ...feeAmounts(fees, reads) } : job.most;
  const costOf = (output: number) => worstCaseCost({ input: inputTokens, output: output * job.choiceCount, amounts }, prices);
  const worstCase = costOf(maxOutputTokens);
  const isOnlyAsked = job.maxOutputParam !== undefined && outputLimitOf(deployment) === undefined;
  const isCapped = isOnlyAsked && maxOutputTokens > RESERVED_OUTPUT_TOKENS_MAX;
  return { inputTokens, maxOutputTokens, worstCase, reserve: isCapped ? costOf(RESERVED_OUTPUT_TOKENS_MAX) : worstCase };
}
