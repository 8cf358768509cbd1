import { LIMITS, STREAMING, words } from "./shared/params.ts";
import type { ModelFamily, ProviderKind } from "./shared/provider-kind.ts";

const EVERY = `${LIMITS} ${STREAMING} user safety_identifier metadata store service_tier prompt_cache_key prompt_cache_retention`;
const TOOLS = "tools tool_choice response_format";
const OLDER_TOOLS = "functions function_call parallel_tool_calls";
const SAMPLING = "temperature top_p frequency_penalty presence_penalty logit_bias logprobs top_logprobs";
const CHOICES = "n seed";
export const OPENAI_USUAL = `${EVERY} ${TOOLS} ${OLDER_TOOLS} ${SAMPLING} ${CHOICES}`;

/** Which parameters OpenAI's models take. `ft:` models are like the model they were made of. */
export const CHAT_FAMILIES: readonly ModelFamily[] = [
  {
    // Reasoning models, first generation: no sampling; parallel calls are not theirs to choose.
    models: /^(ft:)?o[1-9](-|$)/,
    params: words(EVERY, TOOLS, CHOICES, "functions function_call reasoning_effort"),
    limitField: "max_completion_tokens",
  },
  {
    models: /^(ft:)?gpt-5(\.\d+)?-chat/,
    params: words(OPENAI_USUAL, "stop verbosity"),
    limitField: "max_completion_tokens",
  },
  {
    models: /^(ft:)?(gpt-[5-9]|codex)/,
    params: words(EVERY, TOOLS, OLDER_TOOLS, CHOICES, "reasoning_effort verbosity web_search_options"),
    limitField: "max_completion_tokens",
  },
  { models: /-search-/, params: words(EVERY, "response_format web_search_options") },
  { models: /-audio/, params: words(OPENAI_USUAL, "stop modalities audio") },
  { models: /.*/, params: words(OPENAI_USUAL, "stop prediction modalities web_search_options") },
];

export const EMBEDDING_FAMILIES: readonly ModelFamily[] = [
  { models: /ada-002/, params: ["user"] },
  { models: /.*/, params: ["dimensions", "user"] },
];

export const openai = {
  kind: "openai",
  displayName: "OpenAI",
  prefixes: ["openai", "text-completion-openai"],
  environment: { api_key: ["OPENAI_API_KEY"], api_base: ["OPENAI_API_BASE", "OPENAI_BASE_URL"] },
  baseUrl: "https://api.openai.com/v1",
  priceLists: ["openai"],
  operations: [
    "chat",
    "completions",
    "embeddings",
    "moderations",
    "speech",
    "transcriptions",
    "translations",
    "images",
    "imageEdits",
    "realtime",
  ],
  params: { chat: CHAT_FAMILIES, embeddings: EMBEDDING_FAMILIES },
  passThrough: {},
} satisfies ProviderKind;
