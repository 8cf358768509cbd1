import { openai } from "./openai.ts";
import { anyModel, SELF_HOSTED } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

/** Any other server that speaks OpenAI's API. */
export const openaiCompatible = {
  kind: "openai_compatible",
  displayName: "OpenAI-compatible server",
  prefixes: ["openai_compatible", "openai_like", "custom_openai", "litellm_proxy"],
  environment: { api_key: ["OPENAI_LIKE_API_KEY"], api_base: ["OPENAI_LIKE_API_BASE"] },
  needsBaseUrl: true,
  isLocal: true,
  operations: [...openai.operations, "rerank"],
  params: { chat: anyModel("max_tokens", SELF_HOSTED) },
  compatible: {},
} satisfies ProviderKind;
