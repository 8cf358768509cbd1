import { type ClaudeRules, claudeRules } from "./claude-rules.ts";

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
