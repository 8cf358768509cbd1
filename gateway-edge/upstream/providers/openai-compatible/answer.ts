import { createHash } from "node:crypto";
import type { LimitField } from "../../../../common/providers/shared/provider-kind.ts";
import type { ChatAnswer, ChatCall, ChatChoice, Fields, ProviderTarget, StreamPart, UpstreamEvent } from "../provider.ts";
import { type Expansion, expand } from "../shared/expand.ts";
import { asFields, asList, asText, brokenOff, malformed, parseEvent, present } from "../shared/json-fields.ts";
import { readOpenAiUsage } from "../shared/openai-usage.ts";
import { readInlineError, readUpstreamError } from "../shared/read-upstream-error.ts";
import { withShortIds } from "../shared/short-ids.ts";
import { ToolCallDeltas, wholeToolCalls } from "../shared/tool-call-deltas.ts";
import { readFinishReason } from "./finish.ts";
import { PlainDeltaReader } from "./plain.ts";

/** The fields for an upstream with OpenAI's chat API: the caller's, the model id, the output limit. */
export function openAiChatFields(call: ChatCall, target: ProviderTarget, limitField?: LimitField): Fields {
  const { max_tokens: _given, max_completion_tokens: newer, stream: _stream, stream_options: _options, ...fields } = call.body;
  const given = newer === undefined ? "max_tokens" : "max_completion_tokens";
  return {
    ...withoutEmptyTools(fields),
    ...withinLimits(fields),
    model: target.inferenceModelId,
    [limitField ?? given]: call.maxOutputTokens,
    // Usage is always requested, because it is billed; the caller sees it only on request.
    ...(call.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** OpenAI refuses longer ones. */
const CALL_ID_CHARACTERS_MAX = 40;
const USER_CHARACTERS_MAX = 64;

/** Fields that come from other APIs and providers, where they may be longer: the user of Anthropic's metadata, and ids of tool calls. */
function withinLimits({ messages, user }: Fields): Fields {
  const short = withShortIds(messages, CALL_ID_CHARACTERS_MAX);
  const fields: Record<string, unknown> = short === messages ? {} : { messages: short };
  if (typeof user === "string" && user.length > USER_CHARACTERS_MAX) fields["user"] = createHash("sha256").update(user).digest("hex");
  return fields;
}

export function openAiChatBody(call: ChatCall, target: ProviderTarget): string {
  return JSON.stringify(openAiChatFields(call, target));
}

/** Most servers refuse an empty list of tools, and a tool choice without tools. */
export function withoutEmptyTools(fields: Fields): Fields {
  if (!Array.isArray(fields["tools"]) || fields["tools"].length > 0) return fields;
  const { tools: _tools, tool_choice: _choice, parallel_tool_calls: _parallel, ...others } = fields;
  return others;
}

/** Fields of an answer that are passed on beside its choices. */
const EXTRA = ["system_fingerprint", "service_tier", "prompt_filter_results", "citations", "search_results", "provider"];

export function readOpenAiAnswer(body: unknown): ChatAnswer {
  const answer = asFields(body);
  // OpenRouter answers 200 with an error inside.
  if (isError(answer["error"])) throw readInlineError(answer);
  const choices = asList(answer["choices"]);
  if (choices.length === 0) throw malformed("an answer without choices");
  const read = {
    choices: choices.map((choice, position) => readChoice(asFields(choice), { position, answerId: answer["id"] })),
    usage: readOpenAiUsage(answer["usage"], answer["model"]),
  };
  const extra = EXTRA.filter((name) => answer[name] !== undefined && answer[name] !== null);
  return extra.length === 0 ? read : { ...read, extra: Object.fromEntries(extra.map((name) => [name, answer[name]])) };
}

/** Chunks of a stream as parts. The end is `[DONE]` or a finish reason for every choice; a stream cut before either is broken. */
export function readOpenAiStream(events: AsyncIterable<UpstreamEvent>, call?: ChatCall): AsyncIterableIterator<StreamPart, undefined> {
  return expand(events, new ChunkParts(call?.body["n"]));
}

class ChunkParts implements Expansion<UpstreamEvent, StreamPart> {
  readonly #reader: ChunkReader;
  readonly #plain = new PlainDeltaReader();
  isDone = false;

  constructor(choices: unknown) {
    this.#reader = new ChunkReader(choices);
  }

  take({ event, data }: UpstreamEvent): StreamPart[] {
    const delta = event === undefined ? this.#plain.read(data) : undefined;
    if (delta) {
      this.#reader.saw(delta.choice);
      return [delta];
    }
    if (data === "[DONE]") {
      this.isDone = true;
      return [...this.#reader.finishAll(), ...this.end()];
    }
    const chunk = parseEvent(data);
    if (event === "error" || isError(chunk["error"])) throw readInlineError(chunk);
    return [...this.#reader.read(chunk)];
  }

  end(): StreamPart[] {
    if (!this.#reader.isFinished()) throw brokenOff();
    return [];
  }
}

export const readOpenAiError = readUpstreamError;

/** The state of a stream that later chunks depend on. */
class ChunkReader {
  readonly #toolCalls = new Map<number, ToolCallDeltas>();
  readonly #finished = new Set<number>();
  readonly #seen = new Set<number>();
  readonly #choices: number;
  #isDone = false;

  constructor(choices: unknown) {
    this.#choices = typeof choices === "number" ? choices : 1;
  }

  isFinished(): boolean {
    const expected = this.#isDone ? 1 : Math.max(this.#choices, this.#seen.size);
    return this.#finished.size >= expected;
  }

  saw(choice: number): void {
    this.#seen.add(choice);
  }

  /** After `[DONE]`: some servers never send a finish reason, but clients need one. */
  *finishAll(): Generator<StreamPart> {
    this.#isDone = true;
    for (const choice of this.#seen) if (!this.#finished.has(choice)) yield this.#finish(choice, "stop");
  }

  *read(chunk: Fields): Generator<StreamPart> {
    const groq = asFields(chunk["x_groq"]);
    if (isError(groq["error"])) throw readInlineError({ error: groq["error"] });
    // Azure's first chunk has no choices, only the filter's result for the prompt.
    for (const choice of asList(chunk["choices"])) yield* this.#readChoice(asFields(choice), chunk["id"]);
    const usage = readOpenAiUsage(chunk["usage"] ?? groq["usage"], chunk["model"]);
    if (usage) yield { type: "usage", usage };
  }

  *#readChoice(choice: Fields, answerId: unknown): Generator<StreamPart> {
    if (isError(choice["error"])) throw readInlineError(choice);
    const index = typeof choice["index"] === "number" ? choice["index"] : 0;
    this.saw(index);
    const { content, ...others } = readMessage(asFields(choice["delta"]));
    const logprobs = choice["logprobs"] ?? undefined;
    const text = typeof content === "string" ? content : "";
    if (text !== "" || logprobs !== undefined) {
      yield { type: "text-delta", choice: index, text, ...(logprobs === undefined ? {} : { logprobs }) };
    }
    const fields = this.#withToolCalls(others, index, answerId);
    if (Object.keys(fields).length > 0) yield { type: "other-delta", choice: index, fields, text: outputText(fields) };
    const reason = asText(choice["finish_reason"]);
    if (reason !== undefined && !this.#finished.has(index)) yield this.#finish(index, reason);
  }

  #finish(choice: number, reason: string): StreamPart {
    this.#finished.add(choice);
    return { type: "finish", choice, reason: readFinishReason(reason, { calledTools: this.#toolCalls.has(choice) }) };
  }

  #withToolCalls({ tool_calls: toolCalls, ...fields }: Fields, index: number, answerId: unknown): Fields {
    if (asList(toolCalls).length === 0) return fields;
    const deltas = this.#toolCalls.get(index) ?? new ToolCallDeltas();
    this.#toolCalls.set(index, deltas);
    return { ...fields, tool_calls: deltas.read(toolCalls, answerId) };
  }
}

function readChoice(choice: Fields, { position, answerId }: { position: number; answerId: unknown }): ChatChoice {
  if (isError(choice["error"])) throw readInlineError(choice);
  const message = readWholeMessage(asFields(choice["message"]), answerId);
  return {
    index: typeof choice["index"] === "number" ? choice["index"] : position,
    message,
    finishReason: readFinishReason(asText(choice["finish_reason"]) ?? "stop", { calledTools: message["tool_calls"] !== undefined }),
    logprobs: choice["logprobs"] ?? null,
  };
}

function readWholeMessage(fields: Fields, answerId: unknown): Fields {
  // Nearly every chunk: a text, and nothing else that is not null.
  const isPlain = (name: string) => name === "content" || name === "role" || fields[name] === null;
  if (typeof fields["content"] === "string" && Object.keys(fields).every(isPlain)) return { content: fields["content"] };
  const { tool_calls: given, content, ...message } = readMessage(fields);
  const toolCalls = wholeToolCalls(given, answerId);
  return { content: content ?? null, ...message, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}) };
}

/** A message or delta without its role and nulls; reasoning under one name, whatever the server's name is. */
function readMessage(fields: Fields): Fields {
  const { role: _role, reasoning, content, ...others } = present(fields);
  const pieces = splitContent(content);
  const thought = asText(others["reasoning_content"]) ?? asText(reasoning) ?? asText(pieces.reasoning);
  return {
    ...others,
    ...(pieces.text === undefined ? {} : { content: pieces.text }),
    ...(thought === undefined ? {} : { reasoning_content: thought }),
  };
}

/** Mistral's thinking models write content as a list: { type: "thinking", thinking: [{ text }] } and { type: "text", text }. */
function splitContent(content: unknown): { text: string | undefined; reasoning: string } {
  if (!Array.isArray(content)) return { text: typeof content === "string" ? content : undefined, reasoning: "" };
  const pieces = content.map(asFields);
  const reasoning = pieces.flatMap((piece) => asList(piece["thinking"]).map((inner) => asText(asFields(inner)["text"]) ?? "")).join("");
  return { text: pieces.map((piece) => (piece["type"] === "text" ? (asText(piece["text"]) ?? "") : "")).join(""), reasoning };
}

/** Output in other fields than content; ids, signatures and repeated reasoning do not count. */
function outputText(fields: Fields): string {
  const calls = [...asList(fields["tool_calls"]), { function: fields["function_call"] }].map((call) => {
    const { name, arguments: text } = asFields(asFields(call)["function"]);
    return `${asText(name) ?? ""}${asText(text) ?? ""}`;
  });
  return [asText(fields["reasoning_content"]), asText(fields["refusal"]), ...calls].join("");
}

function isError(value: unknown): boolean {
  return value !== undefined && value !== null;
}
