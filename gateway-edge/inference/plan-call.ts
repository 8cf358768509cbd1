import { AppError } from "../../common/errors.ts";
import type { NanoUsd } from "../../common/money.ts";
import type { Caller, Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ChatBody, Provider } from "../providers/provider.ts";
import type { ChatRequest } from "../schemas/chat.ts";
import { admit } from "./admit.ts";
import { type Chosen, chooseDeployment } from "./choose-deployment.ts";
import { affordableOutput, type Prices, worstCaseCost } from "./price.ts";

/** What a call will do and can cost, before anything is reserved or sent. */
export interface CallPlan {
  readonly chosen: Chosen;
  readonly body: ChatBody;
  readonly prices: Prices;
  readonly priceVersion: number;
  readonly inputTokens: number;
  /** For each choice. */
  readonly maxOutputTokens: number;
  readonly choiceCount: number;
  readonly worstCase: NanoUsd;
}

export interface PlanDeps {
  readonly catalog: { deploymentsOf(model: string): readonly Deployment[] };
  readonly providers: ReadonlyMap<string, Provider>;
}

const MAX_OUTPUT_TOKENS_UNKNOWN = 4096;

/** Fields for the gateway; a provider would refuse them, or learn what is not its business. */
const GATEWAY_FIELDS = new Set([
  "guardrails",
  "caching",
  "num_retries",
  "context_window_fallback_dict",
  "fallbacks",
  "logger_fn",
  "gw_logging_obj",
  "gw_call_id",
]);

/** Admits a call and prices its worst case; throws the reason why it cannot be made. */
export function planCall(deps: PlanDeps, { caller, request }: { caller: Caller; request: ChatRequest }): CallPlan {
  const alternatives = [...(request.fallbacks ?? []), ...Object.values(request.context_window_fallback_dict ?? {})];
  admit({ caller, model: request.model, alternatives, exists: (model) => deps.catalog.deploymentsOf(model).length > 0 });
  const chosen = chooseDeployment(deps.catalog.deploymentsOf(request.model), deps.providers);
  if (!chosen) throw new AppError("UPSTREAM_UNAVAILABLE", `No provider of the model ${request.model} can be reached.`);
  const { model } = chosen.deployment;
  const pricing = model?.pricing;
  if (!pricing) throw new AppError("INVALID_REQUEST", `The model ${request.model} has no price yet.`, { param: "model" });
  const body = bodyFor(request);
  const inputTokens = chosen.provider.countInput(body);
  const limit = model.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const asked = request.max_completion_tokens ?? request.max_tokens ?? model.maxOutputTokens ?? MAX_OUTPUT_TOKENS_UNKNOWN;
  const maxOutputTokens = Math.min(asked, limit);
  const choiceCount = request.n ?? 1;
  const worstCase = worstCaseCost({ input: inputTokens, output: maxOutputTokens * choiceCount }, pricing);
  return { chosen, body, prices: pricing, priceVersion: pricing.version, inputTokens, maxOutputTokens, choiceCount, worstCase };
}

/** The output each choice may have for what was reserved: all of it, or what the rest of the credit pays for, at least one token. */
export function outputWithin(plan: CallPlan, reserved: bigint): number {
  if (reserved >= plan.worstCase) return plan.maxOutputTokens;
  const tokens = affordableOutput(reserved, plan.inputTokens, plan.prices);
  if (tokens === undefined) return plan.maxOutputTokens;
  return Math.max(1, Math.min(plan.maxOutputTokens, Math.floor(tokens / plan.choiceCount)));
}

function bodyFor(request: ChatRequest): ChatBody {
  const fields = Object.entries(request).filter(([name, value]) => !GATEWAY_FIELDS.has(name) && value !== undefined);
  return Object.fromEntries(fields) as unknown as ChatBody;
}
