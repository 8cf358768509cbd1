import { anyModel, BASIC, LOGPROBS, PENALTIES, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const deepseek = {
  kind: "deepseek",
  displayName: "DeepSeek",
  prefixes: ["deepseek"],
  bareNames: /^deepseek-/,
  environment: { api_key: ["DEEPSEEK_API_KEY"] },
  baseUrl: "https://api.deepseek.com/v1",
  priceLists: ["deepseek"],
  operations: ["chat"],
  params: { chat: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} reasoning_effort thinking`) },
  compatible: { quirks: ["developer-as-system", "effort-as-thinking", "schema-as-instruction"] },
} satisfies ProviderKind;
