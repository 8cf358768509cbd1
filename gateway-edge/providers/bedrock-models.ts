import type { ChatBody, Fields } from "./provider.ts";
import type { Turn } from "./shared/chat-turns.ts";
import { type ClaudeRules, claudeRules, claudeSampling, claudeThinking } from "./shared/claude-models.ts";

/** What a model takes beside the fields that Converse has for all. */
export interface BedrockRules {
  /** In whose words it is told how hard to think. */
  readonly reasoning: "none" | "claude" | "nova" | "effort";
  readonly topK: "none" | "top_k" | "nova";
  /** The strongest choice of a tool that it takes: one by name, any of them, or none at all. */
  readonly toolChoice: "named" | "any" | "auto";
  /** Whether it can be told to call one tool at a time. */
  readonly singleCalls: boolean;
  readonly claude: ClaudeRules;
}

type Row = readonly [pattern: RegExp, rules: Omit<BedrockRules, "claude" | "singleCalls">];

/** The first pattern that fits the model's id. What Bedrock documents for its families, autumn 2026. */
const MODELS: readonly Row[] = [
  [/claude/, { reasoning: "claude", topK: "top_k", toolChoice: "named" }],
  [/nova-2|nova-[a-z]+-v2/, { reasoning: "nova", topK: "nova", toolChoice: "named" }],
  [/nova/, { reasoning: "none", topK: "nova", toolChoice: "named" }],
  [/mistral/, { reasoning: "none", topK: "top_k", toolChoice: "any" }],
  [/gpt-oss/, { reasoning: "effort", topK: "none", toolChoice: "auto" }],
];
const OTHERS: Row[1] = { reasoning: "none", topK: "none", toolChoice: "auto" };

export function bedrockRules(modelId: string): BedrockRules {
  const id = modelId.toLowerCase();
  const claude = claudeRules(id);
  const rules = MODELS.find(([pattern]) => pattern.test(id))?.[1] ?? OTHERS;
  return { ...rules, toolChoice: claude.forcedToolChoice ? rules.toolChoice : "auto", singleCalls: claude.nativeSchema, claude };
}

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

/** Sampling and thinking in the words of the model. */
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
