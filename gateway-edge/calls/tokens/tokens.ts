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

/** Where requests have images and files. A text that begins like one is read as the text that it is. */
const BINARY_FIELDS: ReadonlySet<string> = new Set(["url", "image_url", "file_data", "file_url", "data"]);

export function isBinary(name: string, value: unknown): value is string {
  return typeof value === "string" && value.startsWith("data:") && BINARY_FIELDS.has(name);
}

/** Files that a model reads as the text that they are, whatever carries them. */
const TEXT_TYPES = ["text/", "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript"];
const DATA_HEAD_MAX = 256;

/** The text of a file that is text; undefined for others. */
export function textOfData(url: string): string | undefined {
  const comma = url.slice(0, DATA_HEAD_MAX).indexOf(",");
  const type = url.slice("data:".length, Math.max(comma, 0)).toLowerCase();
  if (!TEXT_TYPES.some((name) => type.startsWith(name))) return undefined;
  const content = url.slice(comma + 1);
  return type.endsWith(";base64") ? Buffer.from(content, "base64").toString() : content;
}

/** Replaces in JSON what no provider counts by its characters. */
export function withoutBinaries(name: string, value: unknown): unknown {
  return isBinary(name, value) ? (textOfData(value) ?? BINARY_TEXT) : value;
}

function messageJson(message: ChatMessage): string {
  const { content } = message;
  return typeof content === "string" && isContentAll(message) ? content : JSON.stringify(message, withoutBinaries);
}

/** Longer than the id of a tool's call, or a name. */
const LABEL_LENGTH_MAX = 64;

/** Whether a message has nothing to read but its content: providers read the calls of assistants, and their reasoning. */
function isContentAll(message: ChatMessage): boolean {
  for (const name in message) {
    const value = message[name];
    if (name === "content" || value === undefined || value === null) continue;
    const isLabel = typeof value === "string" ? value.length <= LABEL_LENGTH_MAX : Array.isArray(value) && value.length === 0;
    if (!isLabel) return false;
  }
  return true;
}
