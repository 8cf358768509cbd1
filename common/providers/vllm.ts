import { anyModel, SELF_HOSTED } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const vllm = {
  kind: "vllm",
  displayName: "vLLM",
  prefixes: ["hosted_vllm", "vllm"],
  environment: { api_key: ["HOSTED_VLLM_API_KEY"], api_base: ["HOSTED_VLLM_API_BASE"] },
  needsBaseUrl: true,
  isLocal: true,
  isFree: true,
  operations: ["chat", "completions", "embeddings", "transcriptions", "translations", "rerank"],
  params: { chat: anyModel("max_tokens", SELF_HOSTED) },
  compatible: {},
} satisfies ProviderKind;
