import { AppError } from "../../../common/errors.ts";
import { unpricedText } from "../../../common/model-data/unpriced.ts";
import type { NanoUsd } from "../../../common/money.ts";
import type { PriceMessage, PriceUnit } from "../../../common/pricing.ts";
import type { Caller, Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { affordableOutput, type Prices, worstCaseCost } from "../../credit/pricing/price.ts";
import { dearestPrices } from "../../credit/pricing/price-tier.ts";
import type { Provider, UpstreamRequest } from "../../upstream/providers/provider.ts";
import type { Router } from "../../upstream/routing/route.ts";
import { targetOf } from "../../upstream/target.ts";
import { roughCounter } from "../tokens/tokens.ts";
import { type AbleGroup, ableGroup, MAX_OUTPUT_TOKENS_UNKNOWN, outputLimitOf } from "./able-group.ts";
import { admit } from "./admit.ts";
import type { Job } from "./job.ts";
import { listedPrices } from "./listed-model.ts";
import { mayUseModel } from "./model-access.ts";

/** What a call can cost at the dearest deployment that may serve it, before anything is reserved or sent. */
export interface CallPlan {
  readonly inputTokens: number;
  /** For each choice, at the dearest deployment. */
  readonly maxOutputTokens: number;
  readonly worstCase: NanoUsd;
  /** What is set aside before the call: its worst case, or less where the length of an answer is the caller's word alone. */
  readonly reserve: NanoUsd;
  /** The model that is asked for has a limit of its own. */
  readonly isLimited: boolean;
}

export interface PlanDeps {
  readonly routing: Pick<Router, "candidates" | "fallbacksOf" | "groupOf" | "accessGroups">;
  readonly providers: ReadonlyMap<string, Provider>;
  /** The operator's word that unsupported parameters may be dropped. */
  readonly dropParams: () => boolean;
}

interface PlannedCall {
  readonly caller: Caller;
  readonly job: Job<unknown>;
  readonly alternatives: readonly string[];
  readonly routing: OutputRouting;
}

/** What is done about more output than the model gives. */
export interface OutputRouting {
  /** The caller's word; undefined: the operator's holds. */
  readonly dropParams: boolean | undefined;
  /** The limit on output is for more than this call: it is lowered to what the model gives, never refused. */
  readonly lowersOutput?: true;
}

/**
 * Credit is set aside for no more output than this where the model's maximum is not known: else a caller could set aside all that its
 * organization has by writing a large number. A stream gets more as it goes on; a whole answer is not asked to be longer.
 */
export const RESERVED_OUTPUT_TOKENS_MAX = 131_072;
const FREE: Prices = { input: 0n, output: 0n };

/** Admits a call and prices its worst case; throws the reason why it cannot be made. */
export function planCall(deps: PlanDeps, call: PlannedCall): CallPlan {
  const { caller, job, alternatives } = call;
  admit({
    caller,
    model: job.model,
    alternatives,
    exists: (model) => deps.routing.groupOf(model, caller) !== undefined,
    mayUse: (model) => mayUseModel(caller, model, deps.routing),
  });
  const able = ableFor(deps, call, job.model);
  const [first] = able.deployments;
  if (!first) {
    throw new AppError("INVALID_REQUEST", `The model ${job.model} does not offer this operation.`, { param: "model" });
  }
  refuseTooLong(deps, call, able);
  const inputTokens = job.countInput(deps.providers.get(first.providerKind)?.counter ?? roughCounter);
  const plansOf = ({ kinds }: AbleGroup) =>
    kinds.flatMap((candidate) => {
      const prices = pricesOf(candidate, job);
      return prices ? [planAt(candidate, { job, inputTokens, prices: dearestPrices(prices, inputTokens) })] : [];
    });
  const own = plansOf(able);
  if (own.length === 0) throw new AppError("INVALID_REQUEST", unpricedText(job.model), { param: "model" });
  // A fallback may be dearer than what was asked for: what it could cost is set aside too.
  const configured = deps.routing.fallbacksOf(job.model, "general", caller);
  const others = alternatives.length + configured.length === 0 ? [] : [...alternatives, ...configured];
  const all = others.length === 0 ? own : [...own, ...others.flatMap((model) => plansOf(ableFor(deps, call, model)))];
  const { maxOutputTokens, worstCase } = all.reduce((most, plan) => (plan.worstCase > most.worstCase ? plan : most));
  const { reserve } = all.reduce((most, plan) => (plan.reserve > most.reserve ? plan : most));
  return { inputTokens, maxOutputTokens, worstCase, reserve, isLimited: able.isLimited };
}

/** The request that a call would send to the first deployment that may serve it. Admitted like the call; nothing is reserved or sent. */
export function previewCall(
  deps: PlanDeps,
  { caller, job, dropParams }: { caller: Caller; job: Job<unknown>; dropParams: boolean },
): { deployment: Deployment; request: UpstreamRequest } {
  planCall(deps, { caller, job, alternatives: [], routing: { dropParams } });
  const [deployment] = ableDeployments(deps, { caller, job }, job.model);
  const provider = deployment && deps.providers.get(deployment.providerKind);
  if (!deployment || !provider) throw new Error("a plan without a deployment");
  const target = targetOf(deployment);
  const [first = job] = job.pieces?.(provider, target)?.jobs ?? [];
  return { deployment, request: first.request({ provider, target, maxOutputTokens: outputAt(deployment, job), dropParams }) };
}

/** More than any deployment of the group can give is refused, unless it may be lowered. Where one has no known maximum, it may give that much. */
function refuseTooLong({ dropParams }: PlanDeps, { job, routing }: PlannedCall, { mostOutput: most }: AbleGroup): void {
  const { maxOutputTokens: asked, maxOutputParam: param } = job;
  if (asked === undefined || param === undefined || routing.lowersOutput) return;
  if (asked <= most || (routing.dropParams ?? dropParams())) return;
  const message = `${param} is ${asked}, but the model ${job.model} writes at most ${most} tokens. Lower ${param}, or set drop_params.`;
  throw new AppError("INVALID_REQUEST", message, { param });
}

/** What may serve a name for this caller, by providers that have the operation. */
export function ableDeployments(deps: PlanDeps, call: { caller: Caller; job: Job<unknown> }, model: string): readonly Deployment[] {
  return ableFor(deps, call, model).deployments;
}

function ableFor(deps: PlanDeps, { caller, job }: { caller: Caller; job: Job<unknown> }, model: string): AbleGroup {
  return ableGroup(deps.providers, deps.routing.candidates(model, caller), job);
}

/**
 * The prices a deployment is billed at; undefined when nobody set any, or only for a unit that this operation cannot be counted in.
 * Moderation is free wherever it has no price of its own.
 */
export function pricesOf(deployment: Deployment, job: Job<unknown>): PriceMessage | undefined {
  const pricing = (deployment.model?.pricing as PriceMessage | undefined) ?? listedPrices(deployment);
  if (pricing) return isCountedBy(job, pricing.unit ?? "token") ? pricing : undefined;
  return job.operation === "moderations" ? FREE : undefined;
}

function isCountedBy(job: Job<unknown>, unit: PriceUnit): boolean {
  // What is not counted in tokens has no way yet to say that it was answered.
  if (unit === "call") return job.estimate === undefined;
  return unit === "token" || job.most?.[unit] !== undefined;
}

/** The most output tokens that a deployment is asked for, of each choice: what the caller wants, and never more than the model gives. */
export function outputAt(deployment: Deployment, job: Job<unknown>): number {
  const limit = outputLimitOf(deployment);
  const asked = job.maxOutputTokens ?? limit ?? MAX_OUTPUT_TOKENS_UNKNOWN;
  return limit === undefined || asked < limit ? asked : limit;
}

/** The output each choice may have for what was reserved: all of it, or what that credit pays for at this deployment, at least one token. */
export function outputWithin(
  plan: CallPlan,
  { reserved, deployment, job }: { reserved: bigint; deployment: Deployment; job: Job<unknown> },
): number {
  const most = outputAt(deployment, job);
  const prices = reserved >= plan.worstCase || most === 0 ? undefined : pricesOf(deployment, job);
  const tokens = prices && affordableOutput(reserved, plan.inputTokens, dearestPrices(prices, plan.inputTokens));
  return tokens === undefined ? most : Math.max(1, Math.min(most, Math.floor(tokens / job.choiceCount)));
}

type DeploymentPlan = Omit<CallPlan, "isLimited">;

function planAt(deployment: Deployment, call: { job: Job<unknown>; inputTokens: number; prices: Prices }): DeploymentPlan {
  const { job, inputTokens, prices } = call;
  const maxOutputTokens = outputAt(deployment, job);
  const costOf = (output: number) => worstCaseCost({ input: inputTokens, output: output * job.choiceCount, amounts: job.most }, prices);
  const worstCase = costOf(maxOutputTokens);
  const isOnlyAsked = job.maxOutputParam !== undefined && outputLimitOf(deployment) === undefined;
  const isCapped = isOnlyAsked && maxOutputTokens > RESERVED_OUTPUT_TOKENS_MAX;
  return { inputTokens, maxOutputTokens, worstCase, reserve: isCapped ? costOf(RESERVED_OUTPUT_TOKENS_MAX) : worstCase };
}
