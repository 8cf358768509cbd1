import { anyModel, BASIC, PENALTIES, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const nvidia = {
  kind: "nvidia",
  displayName: "NVIDIA NIM",
  prefixes: ["nvidia_nim", "nvidia"],
  environment: { api_key: ["NVIDIA_NIM_API_KEY", "NVIDIA_API_KEY"], api_base: ["NVIDIA_NIM_API_BASE"] },
  baseUrl: "https://integrate.api.nvidia.com/v1",
  operations: ["chat", "completions", "embeddings"],
  params: {
    chat: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} seed parallel_tool_calls reasoning_effort chat_template_kwargs`),
  },
  compatible: { quirks: ["developer-as-system"] },
} satisfies ProviderKind;
