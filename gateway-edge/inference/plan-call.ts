import { AppError } from "../../common/errors.ts";
import type { NanoUsd } from "../../common/money.ts";
import type { Caller, Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Provider } from "../providers/provider.ts";
import type { Router } from "../routing/route.ts";
import { admit } from "./admit.ts";
import { type Job, providerFor } from "./job.ts";
import { listedModel, listedPrices } from "./listed-model.ts";
import { mayUseModel } from "./model-access.ts";
import { affordableOutput, type Prices, type PriceUnit, worstCaseCost } from "./price.ts";
import { dearestPrices, type TieredPrices } from "./price-tier.ts";
import { roughCounter } from "./tokens.ts";

/** What a call can cost at the dearest deployment that may serve it, before anything is reserved or sent. */
export interface CallPlan {
  readonly inputTokens: number;
  /** For each choice. */
  readonly maxOutputTokens: number;
  readonly worstCase: NanoUsd;
  /** Of the dearest deployment. */
  readonly prices: Prices;
  /** The model that is asked for has a limit of its own. */
  readonly isLimited: boolean;
}

export interface PlanDeps {
  readonly routing: Pick<Router, "candidates" | "fallbacksOf" | "groupOf" | "accessGroups">;
  readonly providers: ReadonlyMap<string, Provider>;
}

const MAX_OUTPUT_TOKENS_UNKNOWN = 4096;
const FREE: Prices = { input: 0n, output: 0n };

/** Admits a call and prices its worst case; throws the reason why it cannot be made. */
export function planCall(deps: PlanDeps, call: { caller: Caller; job: Job<unknown>; alternatives: readonly string[] }): CallPlan {
  const { caller, job, alternatives } = call;
  admit({
    caller,
    model: job.model,
    alternatives,
    exists: (model) => deps.routing.groupOf(model, caller) !== undefined,
    mayUse: (model) => mayUseModel(caller, model, deps.routing),
  });
  const able = ableDeployments(deps, call, job.model);
  const [first] = able;
  if (!first) {
    throw new AppError("INVALID_REQUEST", `The model ${job.model} does not offer this operation.`, { param: "model" });
  }
  const inputTokens = job.countInput(deps.providers.get(first.providerKind)?.counter ?? roughCounter);
  const plansOf = (deployments: readonly Deployment[]) =>
    deployments.flatMap((candidate) => {
      const prices = pricesOf(candidate, job);
      return prices ? [planAt(candidate, { job, inputTokens, prices: dearestPrices(prices, inputTokens) })] : [];
    });
  const own = plansOf(able);
  if (own.length === 0) throw new AppError("INVALID_REQUEST", `The model ${job.model} has no price yet.`, { param: "model" });
  // A fallback may be dearer than what was asked for: what it could cost is set aside too.
  const configured = deps.routing.fallbacksOf(job.model, "general", caller);
  const others = alternatives.length + configured.length === 0 ? [] : [...alternatives, ...configured];
  const all = others.length === 0 ? own : [...own, ...others.flatMap((model) => plansOf(ableDeployments(deps, call, model)))];
  const { maxOutputTokens, worstCase, prices } = all.reduce((most, plan) => (plan.worstCase > most.worstCase ? plan : most));
  return { inputTokens, maxOutputTokens, worstCase, prices, isLimited: able.some(hasLimit) };
}

/** A limit or a budget of the model itself: its calls have to be asked for, whoever makes them. */
export function hasLimit({ model }: Deployment): boolean {
  const { rpm, tpm, maxParallelRequests } = model?.limits ?? {};
  return (rpm ?? tpm ?? maxParallelRequests ?? model?.budget) !== undefined;
}

/** What may serve a name for this caller, by providers that have the operation. */
export function ableDeployments(
  deps: PlanDeps,
  { caller, job }: { caller: Caller; job: Job<unknown> },
  model: string,
): readonly Deployment[] {
  const isAble = (candidate: Deployment) => providerFor(deps.providers, job, candidate) !== undefined;
  const candidates = deps.routing.candidates(model, caller);
  return candidates.every(isAble) ? candidates : candidates.filter(isAble);
}

/**
 * The prices a deployment is billed at; undefined when nobody set any, or only for a unit that this operation cannot be counted in.
 * Moderation is free wherever it has no price of its own.
 */
export function pricesOf(deployment: Deployment, job: Job<unknown>): TieredPrices | undefined {
  const pricing = deployment.model?.pricing;
  if (pricing) return isCountedBy(job, pricing.unit as PriceUnit) ? (pricing as TieredPrices) : undefined;
  return listedPrices(deployment) ?? (job.operation === "moderations" ? FREE : undefined);
}

function isCountedBy(job: Job<unknown>, unit: PriceUnit): boolean {
  // What is not counted in tokens has no way yet to say that it was answered.
  if (unit === "call") return job.estimate === undefined;
  return unit === "token" || job.most?.[unit] !== undefined;
}

/** The output each choice may have for what was reserved: all of it, or what the rest of the credit pays for, at least one token. */
export function outputWithin(plan: CallPlan, reserved: bigint, choiceCount: number): number {
  if (reserved >= plan.worstCase || plan.maxOutputTokens === 0) return plan.maxOutputTokens;
  const tokens = affordableOutput(reserved, plan.inputTokens, plan.prices);
  if (tokens === undefined) return plan.maxOutputTokens;
  return Math.max(1, Math.min(plan.maxOutputTokens, Math.floor(tokens / choiceCount)));
}

type DeploymentPlan = Omit<CallPlan, "isLimited">;

function planAt(deployment: Deployment, call: { job: Job<unknown>; inputTokens: number; prices: Prices }): DeploymentPlan {
  const { job, inputTokens, prices } = call;
  const limit = deployment.model?.maxOutputTokens ?? listedModel(deployment)?.maxOutputTokens;
  const asked = job.maxOutputTokens ?? limit ?? MAX_OUTPUT_TOKENS_UNKNOWN;
  const maxOutputTokens = Math.min(asked, limit ?? Number.POSITIVE_INFINITY);
  const worstCase = worstCaseCost({ input: inputTokens, output: maxOutputTokens * job.choiceCount, amounts: job.most }, prices);
  return { inputTokens, maxOutputTokens, worstCase, prices };
}
