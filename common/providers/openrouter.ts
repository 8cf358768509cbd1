import { ALL, anyModel } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const openrouter = {
  kind: "openrouter",
  displayName: "OpenRouter",
  prefixes: ["openrouter"],
  environment: { api_key: ["OPENROUTER_API_KEY"] },
  baseUrl: "https://openrouter.ai/api/v1",
  priceLists: ["openrouter"],
  operations: ["chat", "completions", "embeddings"],
  params: {
    chat: anyModel("max_tokens", `${ALL} reasoning provider transforms plugins top_k top_a min_p repetition_penalty verbosity`),
  },
  compatible: {},
} satisfies ProviderKind;
