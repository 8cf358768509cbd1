import { anyModel, BASIC, LOGPROBS, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const cerebras = {
  kind: "cerebras",
  displayName: "Cerebras",
  prefixes: ["cerebras"],
  environment: { api_key: ["CEREBRAS_API_KEY"] },
  baseUrl: "https://api.cerebras.ai/v1",
  priceLists: ["cerebras"],
  operations: ["chat", "completions"],
  params: { chat: anyModel("max_completion_tokens", `${BASIC} ${TOOLS} ${LOGPROBS} seed parallel_tool_calls reasoning_effort`) },
  compatible: { quirks: ["developer-as-system"] },
} satisfies ProviderKind;
