import { anyModel, BASIC, PENALTIES, TOOLS } from "./shared/params.ts";
import type { ProviderKind } from "./shared/provider-kind.ts";

export const groq = {
  kind: "groq",
  displayName: "Groq",
  prefixes: ["groq"],
  environment: { api_key: ["GROQ_API_KEY"] },
  baseUrl: "https://api.groq.com/openai/v1",
  priceLists: ["groq"],
  operations: ["chat", "speech", "transcriptions", "translations"],
  params: {
    chat: anyModel(
      "max_completion_tokens",
      `${BASIC} ${PENALTIES} ${TOOLS} parallel_tool_calls functions function_call seed reasoning_effort reasoning_format service_tier`,
    ),
  },
  compatible: { quirks: ["no-message-names"] },
} satisfies ProviderKind;
