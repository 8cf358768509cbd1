import { anyModel, BASIC, PENALTIES, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const together = {
  kind: "together",
  displayName: "Together AI",
  prefixes: ["together_ai", "together"],
  environment: { api_key: ["TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"] },
  baseUrl: "https://api.together.xyz/v1",
  priceLists: ["together"],
  operations: ["chat", "completions", "embeddings", "speech", "transcriptions", "translations", "images", "rerank"],
  params: {
    chat: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} logit_bias n seed reasoning_effort top_k min_p repetition_penalty`),
  },
  compatible: { quirks: ["developer-as-system"] },
} satisfies ProviderKind;
