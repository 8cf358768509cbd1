import { createHash } from "node:crypto";
import { AppError } from "../../../../common/errors.ts";
import type { ChatMessage, Fields } from "../provider.ts";
import { asFields, asList, asText } from "./json-fields.ts";
import { type MediaPart, readFile, readImage } from "./media-parts.ts";

/** A conversation in the form that upstreams with alternating turns and typed blocks share (Anthropic Messages, Bedrock Converse). */
export interface Conversation {
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
}

export interface Turn {
  readonly role: "system" | "user" | "assistant";
  readonly parts: readonly TurnPart[];
}

export interface TextPart {
  readonly type: "text";
  readonly text: string;
  /** The caller's mark that everything up to this part is to be cached. */
  readonly cacheControl?: Fields | undefined;
}

export type TurnPart =
  | TextPart
  | MediaPart
  | { readonly type: "thinking"; readonly text: string; readonly signature: string; readonly cacheControl?: undefined }
  | { readonly type: "redacted-thinking"; readonly data: string; readonly cacheControl?: undefined }
  | {
      readonly type: "tool-call";
      readonly id: string;
      readonly name: string;
      readonly input: Fields;
      readonly cacheControl?: Fields | undefined;
    }
  | {
      readonly type: "tool-result";
      readonly id: string;
      readonly content: readonly (TextPart | MediaPart)[];
      readonly isError: boolean;
      readonly cacheControl?: Fields | undefined;
    };

/** Upstreams refuse a conversation that does not start with the user; this is the shortest text. */
const FILLER: TextPart = { type: "text", text: "." };

/**
 * Messages as alternating turns. `laterSystem` decides about system messages after the first turn: `hoist` moves them to the leading ones,
 * `inline` leaves them where they are, for upstreams that take them there.
 */
export function readConversation(messages: readonly ChatMessage[], { laterSystem }: { laterSystem: "hoist" | "inline" }): Conversation {
  const reader = new MessageReader();
  const all = messages.map((message, index) => reader.read(message, index)).filter(({ parts }) => parts.length > 0);
  const firstTurn = all.findIndex(({ role }) => role !== "system");
  const isHoisted = ({ role }: Turn, index: number) => role === "system" && (laterSystem === "hoist" || firstTurn < 0 || index < firstTurn);
  const system = all.filter(isHoisted).flatMap(({ parts }) => parts.filter((part) => part.type === "text"));
  const turns = merged(all.filter((turn, index) => !isHoisted(turn, index)));
  return { system, turns: withTrimmedEnd(turns[0]?.role === "user" ? turns : [{ role: "user", parts: [FILLER] }, ...turns]) };
}

/**
 * The id of a tool call in the characters that the strictest of these upstreams takes. Equal ids give equal results on the call and on its
 * result, and a hash distinguishes ids that replacing or truncating would make equal.
 */
function safeToolId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  const hash = createHash("sha256").update(id).digest("hex").slice(0, 16);
  return `${id.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 40)}_${hash}`;
}

class MessageReader {
  /** Legacy function calls have no ids: the id of the last call of a name, and how many calls there were. */
  readonly #functionIds = new Map<string, string>();
  #functionCalls = 0;

  read(message: ChatMessage, index: number): Turn {
    const where = `messages[${index}]`;
    const cacheControl = cacheControlOf(message);
    if (message.role === "system" || message.role === "developer") {
      return { role: "system", parts: marked(readContent(message.content, where), cacheControl) };
    }
    if (message.role === "assistant") return { role: "assistant", parts: marked(this.#assistantParts(message, where), cacheControl) };
    if (message.role === "tool") return { role: "user", parts: [toolResult(asText(message["tool_call_id"]) ?? "", message, where)] };
    if (message.role === "function") return { role: "user", parts: this.#functionResult(message, where) };
    return { role: "user", parts: marked(readContent(message.content, where), cacheControl) };
  }

  #assistantParts(message: ChatMessage, where: string): TurnPart[] {
    const calls = asList(message["tool_calls"])
      .map(asFields)
      .map((call) => {
        const { name, arguments: args } = asFields(call["function"] ?? call["custom"]);
        const input = readArguments(args ?? asFields(call["custom"])["input"]);
        return { type: "tool-call" as const, id: safeToolId(asText(call["id"]) ?? ""), name: asText(name) ?? "", input };
      });
    const text = readContent(message.content, where);
    return [...readThinking(message["thinking_blocks"]), ...text, ...calls, ...this.#functionCall(message["function_call"])];
  }

  #functionCall(value: unknown): TurnPart[] {
    const { name, arguments: args } = asFields(value);
    if (typeof name !== "string") return [];
    const id = safeToolId(`function_${this.#functionCalls++}_${name}`);
    this.#functionIds.set(name, id);
    return [{ type: "tool-call", id, name, input: readArguments(args) }];
  }

  #functionResult(message: ChatMessage, where: string): TurnPart[] {
    const id = this.#functionIds.get(asText(message["name"]) ?? "");
    // A result without its tool call would be refused as a block, so it is sent as text.
    return id === undefined ? readContent(message.content, where) : [toolResult(id, message, where)];
  }
}

function toolResult(id: string, message: ChatMessage, where: string): TurnPart {
  const content = readContent(message.content, where);
  const cacheControl = cacheControlOf(message) ?? content.find((part) => part.cacheControl)?.cacheControl;
  return {
    type: "tool-result",
    id: safeToolId(id),
    content: content.map(({ cacheControl: _mark, ...part }) => part),
    isError: message["is_error"] === true,
    cacheControl,
  };
}

/** Text and media of a message; empty texts are dropped, because upstreams refuse them. */
function readContent(content: unknown, where: string): (TextPart | MediaPart)[] {
  if (typeof content === "string") return content.trim() === "" ? [] : [{ type: "text", text: content }];
  return asList(content).flatMap((part, index) => {
    // Another provider's thinking, without a signature.
    if (asFields(part)["type"] === "thinking") return [];
    const read = readPart(asFields(part), `${where}.content[${index}]`);
    return read.type === "text" && read.text.trim() === "" ? [] : [read];
  });
}

function readPart(part: Fields, where: string): TextPart | MediaPart {
  const cacheControl = cacheControlOf(part);
  if (part["type"] === "image_url") return { ...readImage(part["image_url"], where), cacheControl };
  if (part["type"] === "file") return { ...readFile(asFields(part["file"]), where), cacheControl };
  if (part["type"] === "refusal") return { type: "text", text: asText(part["refusal"]) ?? "", cacheControl };
  if (typeof part["text"] === "string") return { type: "text", text: part["text"], cacheControl };
  throw new AppError("INVALID_REQUEST", `This model does not support content parts of the type ${String(part["type"])}.`, { param: where });
}

/** Thinking blocks of earlier answers. Unsigned ones would be refused: they came from another provider, or lost their signature. */
function readThinking(blocks: unknown): TurnPart[] {
  return asList(blocks)
    .map(asFields)
    .flatMap((block): TurnPart[] => {
      if (block["type"] === "redacted_thinking" && typeof block["data"] === "string")
        return [{ type: "redacted-thinking", data: block["data"] }];
      const signature = asText(block["signature"]);
      if (block["type"] !== "thinking" || signature === undefined) return [];
      return [{ type: "thinking", text: asText(block["thinking"]) ?? "", signature }];
    });
}

/** The arguments of a tool call as an object. */
export function readArguments(text: unknown): Fields {
  if (typeof text !== "string" || text.trim() === "") return {};
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  } catch {
    // A model may have written invalid arguments earlier; the upstream still requires an object.
  }
  return { arguments: text };
}

function cacheControlOf(fields: Fields): Fields | undefined {
  const mark = fields["cache_control"];
  return typeof mark === "object" && mark !== null ? (mark as Fields) : undefined;
}

/** A mark on a message is a mark on its last part. */
function marked(parts: readonly TurnPart[], cacheControl: Fields | undefined): readonly TurnPart[] {
  const last = parts.at(-1);
  if (!cacheControl || !last || last.type === "thinking" || last.type === "redacted-thinking") return parts;
  return [...parts.slice(0, -1), { ...last, cacheControl }];
}

/** Roles alternate, and in a user turn tool results come first: they must directly follow the tool calls. */
function merged(turns: readonly Turn[]): Turn[] {
  const result: Turn[] = [];
  for (const turn of turns) {
    const last = result.at(-1);
    if (last?.role === turn.role) result[result.length - 1] = { role: turn.role, parts: [...last.parts, ...turn.parts] };
    else result.push(turn);
  }
  const isResult = (part: TurnPart) => part.type === "tool-result";
  return result.map(({ role, parts }) => ({ role, parts: [...parts.filter(isResult), ...parts.filter((part) => !isResult(part))] }));
}

/** Trailing white space is refused in an assistant turn that the model continues. */
function withTrimmedEnd(turns: readonly Turn[]): readonly Turn[] {
  const last = turns.at(-1);
  const part = last?.parts.at(-1);
  if (last?.role !== "assistant" || part?.type !== "text") return turns;
  return [...turns.slice(0, -1), { role: "assistant", parts: [...last.parts.slice(0, -1), { ...part, text: part.text.trimEnd() }] }];
}
