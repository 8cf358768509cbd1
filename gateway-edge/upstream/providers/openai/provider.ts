import { openai as declaration } from "../../../../common/providers/openai.ts";
import { createOpenAiProvider } from "../openai-compatible/create.ts";
import { bearerHeaders, under } from "../shared/locate-upstream.ts";

/** OpenAI itself. An operator's base URL is used unchanged. */
export const openai = createOpenAiProvider({
  declaration,
  takesTokens: true,
  // Another address is a server that only follows OpenAI's API.
  speaksResponses: ({ baseUrl }) => baseUrl === undefined || /^https:\/\/([a-z]+\.)?api\.openai\.com(\/|$)/.test(baseUrl),
  locate: (target, path) => ({
    url: under(target.baseUrl ?? declaration.baseUrl, path),
    headers: bearerHeaders(target, {
      "openai-organization": target.params["organization"],
      "openai-project": target.params["project"],
    }),
  }),
});
