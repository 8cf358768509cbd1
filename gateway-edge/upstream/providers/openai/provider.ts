import { CHAT_FAMILIES } from "../../../../common/providers/openai-families.ts";
import { createOpenAiProvider } from "../openai-compatible/create.ts";
import { bearerHeaders, under } from "../shared/locate-upstream.ts";

const BASE = "https://api.openai.com/v1";

/** OpenAI itself. An operator's base URL is used unchanged. */
export const openai = createOpenAiProvider({
  kind: "openai",
  operations: ["chat", "completions", "embeddings", "moderations", "speech", "transcriptions", "translations", "images", "imageEdits"],
  families: CHAT_FAMILIES,
  takesTokens: true,
  // Another address is a server that only follows OpenAI's API.
  speaksResponses: ({ baseUrl }) => baseUrl === undefined || /^https:\/\/([a-z]+\.)?api\.openai\.com(\/|$)/.test(baseUrl),
  locate: (target, path) => ({
    url: under(target.baseUrl ?? BASE, path),
    headers: bearerHeaders(target, {
      "openai-organization": target.params["organization"],
      "openai-project": target.params["project"],
    }),
  }),
});
