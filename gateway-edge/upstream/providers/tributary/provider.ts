import { tributary as declaration } from "../../../../common/providers/tributary.ts";
import { createCompatibleProvider } from "../openai-compatible/provider.ts";
import type { ChatMessage, Provider } from "../provider.ts";

/**
 * Our own trainer nodes, which serve trained models in OpenAI's format. A token is a byte of text there, in and out, so the gateway's count
 * before a call equals the node's count after it.
 */
export const tributary: Provider = {
  ...createCompatibleProvider(declaration),
  counter: {
    countText: (text) => Buffer.byteLength(text),
    // A language model gets the messages as lines.
    countMessages: (messages) => messages.reduce((sum, message) => sum + contentBytes(message) + 1, 0),
  },
};

function contentBytes({ content }: ChatMessage): number {
  return Buffer.byteLength(typeof content === "string" ? content : JSON.stringify(content ?? ""));
}
