import { BASIC, LIMITS, LOGPROBS, PENALTIES, STREAMING, TOOLS, words } from "./shared/params.ts";
import type { ModelFamily, ProviderKind } from "./shared/provider-kind.ts";

const EVERY = `${TOOLS} ${LOGPROBS} n seed parallel_tool_calls search_parameters`;
const REASONING = `${LIMITS} ${STREAMING} temperature top_p user ${EVERY}`;
const FAMILIES: readonly ModelFamily[] = [
  { models: /^grok-3-mini/, params: words(REASONING, "reasoning_effort"), limitField: "max_tokens" },
  { models: /^grok-([4-9]|code)/, params: words(REASONING), limitField: "max_tokens" },
  { models: /.*/, params: words(BASIC, PENALTIES, EVERY), limitField: "max_tokens" },
];

export const xai = {
  kind: "xai",
  displayName: "xAI",
  prefixes: ["xai", "x_ai"],
  bareNames: /^grok-/,
  environment: { api_key: ["XAI_API_KEY"] },
  baseUrl: "https://api.x.ai/v1",
  priceLists: ["x-ai"],
  operations: ["chat", "images"],
  params: { chat: FAMILIES },
  compatible: { quirks: ["no-empty-names"] },
} satisfies ProviderKind;
