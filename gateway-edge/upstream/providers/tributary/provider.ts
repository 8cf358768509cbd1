import { createCompatibleProvider } from "../openai-compatible/provider.ts";
import type { ChatMessage, Provider } from "../provider.ts";

/**
 * Our own trainer nodes, which answer for models that were trained here in OpenAI's words. A token is a byte of text there, in and out, so
 * that what is counted here before a call is what is counted there after it.
 */
export const tributary: Provider = {
  ...createCompatibleProvider({
    kind: "tributary",
    aliases: [],
    baseUrl: undefined,
    keyVariable: "TRAINER_TOKEN",
    operations: ["chat", "completions", "embeddings", "moderations"],
  }),
  counter: {
    countText: (text) => Buffer.byteLength(text),
    // A language model is given the messages as lines.
    countMessages: (messages) => messages.reduce((sum, message) => sum + contentBytes(message) + 1, 0),
  },
};

function contentBytes({ content }: ChatMessage): number {
  return Buffer.byteLength(typeof content === "string" ? content : JSON.stringify(content ?? ""));
}
