import type { ChatMessage, TokenCounter } from "../../upstream/providers/provider.ts";

// Every message costs a few extra tokens in every chat format.
const MESSAGE_TOKENS = 4;
const BYTES_PER_TOKEN = 3;

/**
 * Counts without a vocabulary, for reservations: a token for every three bytes, which real tokenizers rarely exceed. The bill uses the
 * provider's own count or, where a provider reports none, the model's vocabulary (`text-counters.ts`).
 */
export const roughCounter: TokenCounter = {
  countMessages: (messages) => messages.reduce((sum, message) => sum + MESSAGE_TOKENS + countBytes(messageJson(message)), 0),
  countText: countBytes,
};

/** The same count for a text of which only the length is known. */
export function roughTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

function countBytes(text: string): number {
  return roughTokens(Buffer.byteLength(text));
}

// Data of images and files is not text: a provider counts it by size or pages, in the hundreds, never by its characters.
const BINARY_TOKENS = 1000;
const BINARY_TEXT = "x".repeat(BINARY_TOKENS * BYTES_PER_TOKEN);

function messageJson(message: ChatMessage): string {
  if (typeof message.content === "string" && message["tool_calls"] === undefined) return message.content;
  return JSON.stringify(message, (_key, value: unknown) => (typeof value === "string" && value.startsWith("data:") ? BINARY_TEXT : value));
}
