import type { Attributes } from "../../../common/tracing/span.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { TokenUsage, UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";

// Attributes by OpenTelemetry's GenAI conventions (`gen_ai.`), beside them the names of OpenInference (`llm.`), which Phoenix reads, and
// our own (`tributary.`). Usage and cost are on one span of a trace only, because its readers add them up.

/** `gen_ai.operation.name` where the convention has a name; other operations have ours. */
const OPERATIONS: Readonly<Record<string, string>> = {
  completions: "text_completion",
  responses: "chat",
};

/** `gen_ai.provider.name` where the convention has another name than our provider kind. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  gemini: "gcp.gemini",
  vertex_ai: "gcp.vertex_ai",
  mistral: "mistral_ai",
  xai: "x_ai",
};

/** OpenInference's kinds of spans; all other operations are `LLM`. */
const KINDS: Readonly<Record<string, string>> = { embeddings: "EMBEDDING", rerank: "RERANKER" };

const NANO_USD = 1e9;

/** What a trace shows of a deployment. */
export type TracedDeployment = Pick<Deployment, "id" | "providerKind" | "inferenceModelId">;

export interface TracedAttempt {
  readonly operation: string;
  readonly stream: boolean;
  readonly deployment: TracedDeployment;
  readonly callId: string;
  /** From 1. */
  readonly number: number;
}

export function attemptName({ operation, deployment }: TracedAttempt): string {
  return `${operationName(operation)} ${deployment.inferenceModelId}`;
}

/** What is known of an attempt before it is sent. */
export function attemptAttributes(attempt: TracedAttempt): Attributes {
  const { operation, stream, deployment, callId, number } = attempt;
  const provider = PROVIDERS[deployment.providerKind] ?? deployment.providerKind;
  const model = deployment.inferenceModelId;
  return {
    "gen_ai.operation.name": operationName(operation),
    "gen_ai.provider.name": provider,
    "gen_ai.system": provider,
    "gen_ai.request.model": model,
    "openinference.span.kind": KINDS[operation] ?? "LLM",
    "llm.model_name": model,
    "llm.provider": provider,
    ...(operation === "embeddings" ? { "embedding.model_name": model } : {}),
    "tributary.call_id": callId,
    "tributary.deployment_id": deployment.id,
    "tributary.attempt": number,
    "tributary.stream": stream,
  };
}

/** What is known of the attempt that answered, from the row of its call. */
export function answerAttributes(log: UsageLog, finishReasons: readonly string[]): Attributes {
  return {
    "gen_ai.response.model": log.providerModel,
    "gen_ai.response.finish_reasons": finishReasons.length > 0 ? finishReasons : undefined,
    "error.type": log.errorCode,
    "tributary.cost_nano_usd": log.cost,
    "gen_ai.usage.cost": Number(log.cost) / NANO_USD,
    "llm.cost.total": Number(log.cost) / NANO_USD,
    ...(log.usage ? usageAttributes(log.usage) : {}),
  };
}

/** The call as the gateway sees it. */
export function callAttributes(log: UsageLog): Attributes {
  return {
    "tributary.model": log.model,
    "tributary.status": log.status,
    "tributary.cost_nano_usd": log.cost,
    "tributary.attempts": log.attempts,
    "tributary.cache_hit": log.cacheHit,
    "tributary.organization_id": log.organizationId,
    "tributary.team_id": log.teamId,
    "tributary.api_key_id": log.apiKeyId,
    "error.type": log.errorCode,
  };
}

function usageAttributes(usage: TokenUsage): Attributes {
  const audioOutput = usage.audioOutput ?? 0n;
  const input = usage.input + usage.cachedInput + usage.cacheWrite + usage.audio - audioOutput;
  const output = usage.output + usage.reasoning + audioOutput;
  return {
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cache_read.input_tokens": usage.cachedInput,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWrite,
    "llm.token_count.prompt": input,
    "llm.token_count.completion": output,
    "llm.token_count.total": input + output,
    "tributary.usage_source": usage.source,
  };
}

const operationName = (operation: string): string => OPERATIONS[operation] ?? operation;

/** Why a whole answer ended, in each dialect's own field. */
export function finishReasonsOf(answer: unknown): string[] {
  const { choices, proxied } = (answer ?? {}) as { choices?: unknown; proxied?: Readonly<Record<string, unknown>> };
  if (Array.isArray(choices)) return choices.map((choice: { finishReason?: unknown }) => choice.finishReason).filter(isText);
  return [proxied?.["stop_reason"] ?? proxied?.["status"]].filter(isText);
}

const isText = (value: unknown): value is string => typeof value === "string";
