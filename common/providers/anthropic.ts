import { claudeRules } from "./shared/claude-rules.ts";
import { LIMITS, STREAMING, words } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const ANTHROPIC_VERSION = "2023-06-01";
export const ANTHROPIC_PARAMS = words(
  `${LIMITS} metadata parallel_tool_calls response_format service_tier stop ${STREAMING} tool_choice tools user`,
);
export const ANTHROPIC_SAMPLING = ["temperature", "top_p", "top_k"];

export const anthropic = {
  kind: "anthropic",
  displayName: "Anthropic",
  prefixes: ["anthropic", "anthropic_text"],
  bareNames: /^claude-/,
  environment: { api_key: ["ANTHROPIC_API_KEY"] },
  baseUrl: "https://api.anthropic.com",
  priceLists: ["anthropic"],
  operations: ["chat"],
  params: { chat },
  passThrough: { version: "v1", keyHeader: "x-api-key", headers: { "anthropic-version": ANTHROPIC_VERSION } },
} satisfies ProviderKind;

function chat(model: string): readonly string[] {
  const rules = claudeRules(model);
  const effort = rules.thinking === "none" ? [] : ["reasoning_effort", "thinking"];
  return [...ANTHROPIC_PARAMS, ...effort, ...(rules.sampling === "none" ? [] : ANTHROPIC_SAMPLING)];
}
