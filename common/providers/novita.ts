import { anyModel, LIMITS, LOGPROBS, PENALTIES, STREAMING, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

const SAMPLING = `temperature top_p top_k min_p ${PENALTIES} repetition_penalty logit_bias ${LOGPROBS}`;

export const novita = {
  kind: "novita",
  displayName: "Novita AI",
  prefixes: ["novita"],
  environment: { api_key: ["NOVITA_API_KEY"], api_base: ["NOVITA_API_BASE"] },
  baseUrl: "https://api.novita.ai/openai/v1",
  priceLists: ["novita"],
  operations: ["chat", "completions", "embeddings"],
  params: { chat: anyModel("max_tokens", `${LIMITS} ${STREAMING} ${SAMPLING} ${TOOLS} stop n seed separate_reasoning`) },
  compatible: { quirks: ["developer-as-system"] },
} satisfies ProviderKind;
