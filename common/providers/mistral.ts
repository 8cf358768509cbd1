import { LIMITS, PENALTIES, STREAMING, words } from "./shared/params.ts";
import type { ModelFamily, ProviderKind } from "./shared/provider-kind.ts";

export const MISTRAL_PARAMS = words(
  `${LIMITS} ${STREAMING} temperature top_p stop seed n tools tool_choice parallel_tool_calls response_format ${PENALTIES} prediction`,
);
const CHAT: readonly ModelFamily[] = [
  { models: /^(magistral|mistral-(small|medium)-latest)/, params: [...MISTRAL_PARAMS, "reasoning_effort"], limitField: "max_tokens" },
  { models: /.*/, params: MISTRAL_PARAMS, limitField: "max_tokens" },
];
const EMBEDDINGS: readonly ModelFamily[] = [
  { models: /^codestral-embed/, params: ["dimensions"] },
  { models: /.*/, params: [] },
];

export const mistral = {
  kind: "mistral",
  displayName: "Mistral AI",
  prefixes: ["mistral"],
  bareNames: /^(mistral|ministral|codestral|devstral|magistral|pixtral|open-mi)/,
  environment: { api_key: ["MISTRAL_API_KEY"] },
  baseUrl: "https://api.mistral.ai/v1",
  priceLists: ["mistral"],
  operations: ["chat", "embeddings", "moderations", "transcriptions"],
  params: { chat: CHAT, embeddings: EMBEDDINGS },
  passThrough: { streamsUsage: true },
} satisfies ProviderKind;
