import { messageText, splitTokens } from "./echo/tokens.ts";
import { openAiChatBody, readOpenAiAnswer, readOpenAiError, readOpenAiStream } from "./openai-compatible.ts";
import type { Provider } from "./provider.ts";

/** The built-in provider: says the last user message again. Deterministic, with true usage, reached like any upstream. */
export const echo: Provider = {
  kind: "echo",
  operations: new Set(["chat"]),
  buildRequest: (call, target) => ({
    url: "echo://local/v1/chat/completions",
    headers: { "content-type": "application/json" },
    body: openAiChatBody(call, target),
  }),
  readAnswer: readOpenAiAnswer,
  readStream: readOpenAiStream,
  readError: readOpenAiError,
  countInput: (body) => body.messages.reduce((sum, message) => sum + Math.max(1, splitTokens(messageText(message)).length), 0),
  countOutput: (text) => splitTokens(text).length,
};
