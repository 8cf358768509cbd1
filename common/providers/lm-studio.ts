import { anyModel, BASIC, PENALTIES, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const lmStudio = {
  kind: "lm_studio",
  displayName: "LM Studio",
  prefixes: ["lm_studio", "lmstudio"],
  environment: { api_key: ["LM_STUDIO_API_KEY"], api_base: ["LM_STUDIO_API_BASE"] },
  baseUrl: "http://localhost:1234/v1",
  isLocal: true,
  isFree: true,
  operations: ["chat", "completions", "embeddings"],
  params: { chat: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} logit_bias seed top_k repetition_penalty`) },
  compatible: { quirks: ["developer-as-system"] },
} satisfies ProviderKind;
