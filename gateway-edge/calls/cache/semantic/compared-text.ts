import type { Fields } from "../../../upstream/providers/provider.ts";

export interface ComparedText {
  readonly text: string;
  /** The request with a placeholder instead of the text: requests with equal rests differ in the text alone. */
  readonly rest: Fields;
}

/** Longer texts are not compared: they cost more to embed, and differ in details that a vector does not show. */
const CHARACTERS_MAX = 8192;

/** With these fields an answer depends on more than a text, or is more than a text. */
const EXCLUDED: readonly string[] = ["tools", "functions", "web_search_options", "mcp_servers", "audio"];

/** The text of a chat's last message, if the user wrote it and it is nothing but text; undefined: the request is not compared. */
export function comparedText(request: Fields): ComparedText | undefined {
  const { messages, n } = request;
  if (!Array.isArray(messages) || (typeof n === "number" && n > 1) || EXCLUDED.some((name) => isGiven(request[name]))) return undefined;
  const last = messages.at(-1) as Fields | undefined;
  const text = last?.["role"] === "user" ? textOf(last["content"]) : undefined;
  if (text === undefined || text.trim() === "" || text.length > CHARACTERS_MAX) return undefined;
  // A vector hardly shows a number, and another number is another question.
  const placeholder = { numbers: text.match(/\p{N}+/gu) ?? [] };
  return { text, rest: { ...request, messages: [...messages.slice(0, -1), { ...last, content: placeholder }] } };
}

function textOf(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content) || content.length === 0 || !content.every(isPlainText)) return undefined;
  return content.map(({ text }) => text).join("\n");
}

function isPlainText(part: unknown): part is { text: string } {
  if (typeof part !== "object" || part === null) return false;
  const { type, text, ...more } = part as Fields;
  return type === "text" && typeof text === "string" && Object.keys(more).length === 0;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
