import { messageText, splitTokens } from "./echo/tokens.ts";
import { openAiChatBody, readOpenAiAnswer, readOpenAiError, readOpenAiStream } from "./openai-compatible.ts";
import type { Provider } from "./provider.ts";

const SUPPORTED = ["max_tokens", "max_completion_tokens", "n", "stop", "stream", "stream_options", "user"];

/** The built-in provider: says the last user message again. Deterministic, with true usage, reached like any upstream. */
export const echo: Provider = {
  kind: "echo",
  chat: {
    supportedParams: () => SUPPORTED,
    framing: "sse",
    buildRequest: (call, target) => ({
      url: "echo://local/v1/chat/completions",
      headers: { "content-type": "application/json" },
      body: openAiChatBody(call, target),
    }),
    readAnswer: readOpenAiAnswer,
    readStream: readOpenAiStream,
  },
  readError: readOpenAiError,
  counter: {
    countMessages: (messages) => messages.reduce((sum, message) => sum + Math.max(1, splitTokens(messageText(message)).length), 0),
    countText: (text) => splitTokens(text).length,
  },
};
