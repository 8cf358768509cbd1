import { anyModel, BASIC, LOGPROBS, PENALTIES, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const fireworks = {
  kind: "fireworks",
  displayName: "Fireworks AI",
  prefixes: ["fireworks_ai", "fireworks"],
  environment: { api_key: ["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"] },
  baseUrl: "https://api.fireworks.ai/inference/v1",
  priceLists: ["fireworks"],
  operations: ["chat", "completions", "embeddings", "rerank"],
  params: {
    chat: anyModel(
      "max_tokens",
      `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} logit_bias n seed reasoning_effort top_k min_p repetition_penalty`,
    ),
  },
  compatible: {
    quirks: ["developer-as-system"],
    // Without it Fireworks truncates a prompt that is too long and does not say so.
    always: { context_length_exceeded_behavior: "error" },
  },
} satisfies ProviderKind;
