import type { BedrockRules } from "../../../../common/providers/bedrock.ts";
import type { ChatBody, Fields } from "../provider.ts";
import type { Turn } from "../shared/chat-turns.ts";
import { claudeSampling, claudeThinking } from "../shared/claude-models.ts";

interface ModelContext {
  readonly rules: BedrockRules;
  readonly maxOutputTokens: number;
  readonly turns: readonly Turn[];
  readonly forced: boolean;
}

export interface ModelFields {
  readonly temperature: unknown;
  readonly topP: unknown;
  /** For additionalModelRequestFields. */
  readonly additional: Fields;
}

/** Sampling and thinking in the model's own fields. */
export function modelFields(body: ChatBody, { rules, ...context }: ModelContext): ModelFields {
  const thinking = reasoningFields(body, { rules, ...context });
  const sampling =
    rules.reasoning === "claude"
      ? claudeSampling(body, { rules: rules.claude, thinking: thinking["thinking"] })
      : { temperature: clamped(body["temperature"]), top_p: body["top_p"], top_k: body["top_k"] };
  return {
    temperature: sampling.temperature,
    topP: sampling.top_p,
    additional: { ...thinking, ...topKFields(sampling.top_k, rules) },
  };
}

const NOVA_EFFORTS: Readonly<Record<string, string>> = { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "high" };

function reasoningFields(body: ChatBody, { rules, ...context }: ModelContext): Fields {
  if (rules.reasoning === "claude") return claudeThinking(body, { rules: rules.claude, ...context });
  const effort = String(body["reasoning_effort"] ?? "none");
  if (effort === "none") return {};
  if (rules.reasoning === "effort") return { reasoning_effort: effort };
  const novaEffort = rules.reasoning === "nova" ? NOVA_EFFORTS[effort] : undefined;
  return novaEffort === undefined ? {} : { reasoningConfig: { type: "enabled", maxReasoningEffort: novaEffort } };
}

function topKFields(topK: unknown, rules: BedrockRules): Fields {
  if (typeof topK !== "number" || rules.topK === "none") return {};
  return rules.topK === "nova" ? { inferenceConfig: { topK } } : { top_k: topK };
}

function clamped(temperature: unknown): number | undefined {
  return typeof temperature === "number" ? Math.min(temperature, 1) : undefined;
}
