import type { ChatMessage, Fields } from "../../upstream/providers/provider.ts";
import { asFields, asList } from "../../upstream/providers/shared/json-fields.ts";

/** Fields that Chat Completions does not have. Most servers refuse unknown fields. */
const BLOCK_FIELDS = ["cache_control", "thinking_blocks", "is_error"];

/** Messages with fields of Chat Completions alone. */
export function plainMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const plain: ChatMessage[] = [];
  // Images of tool results: a tool message may hold only text, so they follow after all results.
  let media: Fields[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      const parts = plainParts(message.content);
      const pictures = parts.filter((part) => !isText(part));
      if (pictures.length > 0) media.push(textPart(`Content of the tool result ${String(message["tool_call_id"])}:`), ...pictures);
      plain.push({ ...without(message), content: parts.filter(isText).map(textOf).join("\n") });
      continue;
    }
    const shown = plainMessage(message, message.role === "user" ? media : []);
    if (media.length > 0 && message.role !== "user") plain.push({ role: "user", content: media });
    media = [];
    if (shown) plain.push(shown);
  }
  return media.length > 0 ? [...plain, { role: "user", content: media }] : plain;
}

/** Undefined where nothing is left of it. */
function plainMessage(message: ChatMessage, before: readonly Fields[]): ChatMessage | undefined {
  const parts = [...before, ...plainParts(message.content)];
  if (parts.length > 0) return { ...without(message), content: contentOf(parts) };
  return asList(message["tool_calls"]).length > 0 ? { ...without(message), content: null } : undefined;
}

function plainParts(content: unknown): readonly Fields[] {
  if (typeof content === "string") return [textPart(content)];
  return asList(content).map((part) => without(asFields(part)));
}

function contentOf(parts: readonly Fields[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only && isText(only) ? only["text"] : parts;
}

function without<Value extends Fields>(fields: Value): Value {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !BLOCK_FIELDS.includes(name))) as Value;
}

const isText = ({ type }: Fields) => type === "text";
const textOf = ({ text }: Fields) => String(text);
const textPart = (text: string): Fields => ({ type: "text", text });
