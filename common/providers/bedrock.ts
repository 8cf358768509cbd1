import { type ClaudeRules, claudeRules } from "./shared/claude-rules.ts";
import { LIMITS, STREAMING, words } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const BEDROCK_PARAMS = words(`${LIMITS} response_format service_tier stop ${STREAMING} tool_choice tools`);
export const BEDROCK_SAMPLING = ["temperature", "top_p"];

export const bedrock = {
  kind: "bedrock",
  displayName: "Amazon Bedrock",
  prefixes: ["bedrock", "bedrock_converse"],
  bareNames: /^(anthropic|amazon|meta|cohere|mistral|ai21)\./,
  environment: {
    api_key: ["AWS_BEARER_TOKEN_BEDROCK"],
    aws_access_key_id: ["AWS_ACCESS_KEY_ID"],
    aws_secret_access_key: ["AWS_SECRET_ACCESS_KEY"],
    aws_session_token: ["AWS_SESSION_TOKEN"],
    aws_region_name: ["AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION"],
  },
  noClientParams: "their requests are signed for one region and account",
  priceLists: ["aws"],
  operations: ["chat"],
  params: { chat },
} satisfies ProviderKind;

function chat(model: string): readonly string[] {
  const rules = bedrockRules(model);
  const sampling = rules.claude.sampling === "none" ? [] : BEDROCK_SAMPLING;
  const thinks = rules.reasoning === "claude" ? rules.claude.thinking !== "none" : rules.reasoning !== "none";
  return [
    ...BEDROCK_PARAMS,
    ...sampling,
    ...(rules.topK === "none" || sampling.length === 0 ? [] : ["top_k"]),
    ...(rules.singleCalls ? ["parallel_tool_calls"] : []),
    ...(thinks ? ["reasoning_effort"] : []),
    ...(thinks && rules.reasoning === "claude" ? ["thinking"] : []),
  ];
}

/** What a model takes beside the fields that Converse has for all. */
export interface BedrockRules {
  /** Format of the reasoning effort. */
  readonly reasoning: "none" | "claude" | "nova" | "effort";
  readonly topK: "none" | "top_k" | "nova";
  /** The strongest choice of a tool that it takes: one by name, any of them, or none at all. */
  readonly toolChoice: "named" | "any" | "auto";
  /** Whether parallel tool calls can be disabled. */
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
