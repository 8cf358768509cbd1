import { anyModel, BASIC, PENALTIES, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const llamafile = {
  kind: "llamafile",
  displayName: "llamafile",
  prefixes: ["llamafile"],
  environment: { api_key: ["LLAMAFILE_API_KEY"], api_base: ["LLAMAFILE_API_BASE"] },
  baseUrl: "http://localhost:8080/v1",
  isLocal: true,
  isFree: true,
  operations: ["chat", "completions", "embeddings"],
  params: { chat: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} logit_bias seed top_k min_p`) },
  compatible: { quirks: ["developer-as-system"] },
} satisfies ProviderKind;
