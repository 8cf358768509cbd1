import type { GeminiModelRules } from "../../../../common/providers/gemini.ts";
import type { ChatMessage, Fields } from "../provider.ts";
import { asFields, asList, asText } from "../shared/json-fields.ts";
import { LOST_SIGNATURE, signatureIn } from "./call-id.ts";
import { invalid, parsedOrUndefined } from "./fields.ts";
import { mediaPart } from "./media.ts";

export interface Conversation {
  readonly systemInstruction?: { readonly parts: readonly Fields[] };
  readonly contents: readonly Content[];
}

interface Content {
  readonly role: "user" | "model";
  readonly parts: readonly Fields[];
}

/** A blank turn where Google requires one: it refuses a turn without parts, and a conversation that starts with the model. */
const BLANK: Fields = { text: " " };

/** Messages as Google's turns: all system texts apart, tool results under the name of their function, equal roles merged. */
export function conversationOf(messages: readonly ChatMessage[], rules: GeminiModelRules): Conversation {
  const system: Fields[] = [];
  const contents: Content[] = [];
  const calls = new CallHistory();
  for (const message of messages) {
    if (message.role === "system" || message.role === "developer") system.push(...textParts(message.content));
    else if (message.role === "assistant") append(contents, "model", modelParts(message, rules, calls));
    else if (message.role === "tool" || message.role === "function") append(contents, "user", resultParts(message, calls));
    else append(contents, "user", userParts(message.content));
  }
  const ordered = contents.map(({ role, parts }) => ({ role, parts: calls.inOrder(parts) }));
  if (rules.systemInFirstTurn || ordered.length === 0) return { contents: beginning(ordered, system) };
  return { ...(system.length > 0 ? { systemInstruction: { parts: system } } : {}), contents: beginning(ordered, []) };
}

/** Which tool call an id belongs to. Google pairs results with calls by name and order, so results are put in the order of the calls. */
class CallHistory {
  readonly #names = new Map<string, string>();
  readonly #order = new Map<string, number>();
  readonly #places = new Map<Fields, number>();

  made(id: string, name: string): void {
    this.#order.set(id, this.#order.size + 1);
    this.#names.set(id, name);
  }

  nameOf(id: string): string | undefined {
    return this.#names.get(id);
  }

  answered(part: Fields, id: string): void {
    this.#places.set(part, this.#order.get(id) ?? 0);
  }

  /** Stable: parts that are not tool results follow the results, as the user's next text does. */
  inOrder(parts: readonly Fields[]): readonly Fields[] {
    const results = parts.filter((part) => this.#places.has(part));
    if (results.length === 0) return parts;
    results.sort((left, right) => (this.#places.get(left) ?? 0) - (this.#places.get(right) ?? 0));
    return [...results, ...parts.filter((part) => !this.#places.has(part))];
  }
}

function append(contents: Content[], role: Content["role"], parts: readonly Fields[]): void {
  const last = contents.at(-1);
  if (last?.role === role) contents[contents.length - 1] = { role, parts: [...last.parts, ...parts] };
  else contents.push({ role, parts: parts.length > 0 ? parts : [BLANK] });
}

function beginning(contents: readonly Content[], before: readonly Fields[]): readonly Content[] {
  const [first, ...others] = contents;
  if (first?.role === "user") return [{ role: "user", parts: [...before, ...first.parts] }, ...others];
  return [{ role: "user", parts: before.length > 0 ? before : [BLANK] }, ...contents];
}

function userParts(content: unknown): Fields[] {
  if (!Array.isArray(content)) return textParts(content);
  return content.flatMap((part: unknown) => (asFields(part)["type"] === "text" ? textParts([part]) : [mediaPart(asFields(part))]));
}

function textParts(content: unknown): Fields[] {
  return textsOf(content)
    .filter((text) => text !== "")
    .map((text) => ({ text }));
}

function textsOf(content: unknown): string[] {
  if (typeof content === "string") return [content];
  return asList(content).map((part) => asText(asFields(part)["text"]) ?? asText(asFields(part)["refusal"]) ?? "");
}

function modelParts(message: ChatMessage, rules: GeminiModelRules, calls: CallHistory): Fields[] {
  const toolCalls = asList(message["tool_calls"]).map(asFields);
  // A client that repeats a whole answer repeats its nulls.
  const called = message["function_call"] ?? undefined;
  const legacy = called === undefined ? [] : [{ id: legacyId(called), function: called }];
  let signed = false;
  const callParts = [...toolCalls, ...legacy].map((call: Fields) => {
    const part = callPart(call, calls);
    const signature = signatureOf(call);
    // Of parallel tool calls only the first has a signature; the sentinel is for a batch that lost it.
    const sent = signature ?? (rules.needsSignature && !signed ? LOST_SIGNATURE : undefined);
    signed ||= sent !== undefined;
    return sent === undefined ? part : { ...part, thoughtSignature: sent };
  });
  return [...textParts(message.content), ...callParts];
}

function callPart(call: Fields, calls: CallHistory): Fields {
  const { name, arguments: text } = asFields(call["function"]);
  if (typeof name !== "string") throw invalid("This model supports only function calls.", "messages");
  calls.made(asText(call["id"]) ?? "", name);
  return { functionCall: { name, args: argumentsOf(text) } };
}

/** Another model may have written arguments that are not an object; they are sent unchanged, under one name. */
function argumentsOf(text: unknown): Fields {
  if (typeof text !== "string" || text.trim() === "") return {};
  const value = parsedOrUndefined(text);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : { arguments: value ?? text };
}

/** From our field, from Google's own compatible field, or from the id when a client dropped both. */
function signatureOf(call: Fields): string | undefined {
  const google = asFields(asFields(call["extra_content"])["google"])["thought_signature"];
  return asText(google) ?? signatureIn(asText(call["id"]) ?? "");
}

function resultParts(message: ChatMessage, calls: CallHistory): Fields[] {
  const id = message.role === "function" ? legacyId(message) : (asText(message["tool_call_id"]) ?? "");
  const name = calls.nameOf(id) ?? asText(message["name"]);
  if (name === undefined) throw invalid(`The tool result has no preceding tool call with the id ${id.slice(0, 64)}.`, "messages");
  const part = { functionResponse: { name, response: resultOf(textsOf(message.content).join("")) } };
  calls.answered(part, id);
  const media = asList(message.content)
    .map(asFields)
    .filter(({ type }) => type !== "text");
  return [part, ...media.map(mediaPart)];
}

function resultOf(text: string): Fields {
  const value = parsedOrUndefined(text);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : { result: text };
}

function legacyId(named: unknown): string {
  return `function:${String(asFields(named)["name"])}`;
}
