import { AppError } from "../../common/errors.ts";
import type { ChatAnswer, ChatChoice, ProviderCall, ProviderTarget, ReportedUsage, SseEvent, StreamPart } from "./provider.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The body for an upstream that speaks OpenAI's chat: the caller's fields, our model id, our limit on output. */
export function openAiChatBody(call: ProviderCall, target: ProviderTarget): string {
  const { max_tokens: _given, max_completion_tokens: newer, stream: _stream, stream_options: _options, ...fields } = call.body;
  const limitField = newer === undefined ? "max_tokens" : "max_completion_tokens";
  return JSON.stringify({
    ...fields,
    model: target.inferenceModelId,
    [limitField]: call.maxOutputTokens,
    // Usage is always asked for, because it is what we bill; the caller sees it only when it asked too.
    ...(call.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  });
}

export function readOpenAiAnswer(body: unknown): ChatAnswer {
  const { choices, usage } = asFields(body);
  if (!Array.isArray(choices) || choices.length === 0) throw malformed("an answer without choices");
  return { choices: choices.map(readChoice), usage: readOpenAiUsage(usage) };
}

/** Chunks of a stream as parts. The end is `[DONE]` or a finish reason seen; a stream cut before either is broken. */
export async function* readOpenAiStream(events: AsyncIterable<SseEvent>): AsyncGenerator<StreamPart> {
  let finished = false;
  for await (const { data } of events) {
    if (data === "[DONE]") return;
    for (const part of readChunk(asFields(parse(data)))) {
      finished ||= part.type === "finish";
      yield part;
    }
  }
  if (!finished) throw new AppError("UPSTREAM_UNAVAILABLE", "The provider broke off its answer.");
}

function readChunk(chunk: Fields): StreamPart[] {
  if (chunk["error"] !== undefined && chunk["error"] !== null) throw readOpenAiError(500, chunk);
  const choices: unknown[] = Array.isArray(chunk["choices"]) ? chunk["choices"] : [];
  const parts = choices.flatMap((choice) => readDelta(asFields(choice)));
  const usage = readOpenAiUsage(chunk["usage"]);
  return usage ? [...parts, { type: "usage", usage }] : parts;
}

export function readOpenAiError(status: number, body: unknown): AppError {
  const error = asFields(asFields(body)["error"]);
  const message = typeof error["message"] === "string" ? error["message"].slice(0, 2000) : `The provider answered ${status}.`;
  const param = typeof error["param"] === "string" ? error["param"] : undefined;
  if (error["code"] === "context_length_exceeded") return new AppError("CONTEXT_LENGTH_EXCEEDED", message, { param });
  if (error["code"] === "content_policy_violation" || error["code"] === "content_filter") {
    return new AppError("CONTENT_POLICY_VIOLATION", message, { param });
  }
  if (status === 400 || status === 422) return new AppError("INVALID_REQUEST", message, { param });
  if (status === 408 || status === 504)
    return new AppError("UPSTREAM_TIMEOUT", "The provider did not answer in time.", { internal: message });
  if (status === 429)
    return new AppError("RATE_LIMIT_EXCEEDED", "The provider is over its rate limit. Try again shortly.", {
      internal: message,
      retryAfterSeconds: 1,
    });
  // 401, 403, 404 of an upstream are mistakes in our catalog, and their texts may name our account.
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot answer right now.", { internal: `upstream ${status}: ${message}` });
}

function readChoice(value: unknown, position: number): ChatChoice {
  const choice = asFields(value);
  const { role: _role, ...message } = asFields(choice["message"]);
  return {
    index: typeof choice["index"] === "number" ? choice["index"] : position,
    message,
    finishReason: typeof choice["finish_reason"] === "string" ? choice["finish_reason"] : "stop",
    logprobs: choice["logprobs"] ?? null,
  };
}

function readDelta(choice: Fields): StreamPart[] {
  const parts: StreamPart[] = [];
  const index = typeof choice["index"] === "number" ? choice["index"] : 0;
  const { role: _role, content, ...others } = asFields(choice["delta"]);
  if (typeof content === "string" && content !== "") parts.push({ type: "text-delta", choice: index, text: content });
  const fields = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null && value !== undefined));
  if (Object.keys(fields).length > 0) parts.push({ type: "other-delta", choice: index, fields, text: textsIn(fields) });
  if (typeof choice["finish_reason"] === "string") parts.push({ type: "finish", choice: index, reason: choice["finish_reason"] });
  return parts;
}

/** What a model wrote in fields other than content: names and arguments of tools, refusals, reasoning. */
function textsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textsIn).join("");
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .map(([name, inner]) => (name === "id" || name === "type" ? "" : textsIn(inner)))
    .join("");
}

function readOpenAiUsage(value: unknown): ReportedUsage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = value as Fields;
  const promptDetails = asFields(usage["prompt_tokens_details"]);
  const completionDetails = asFields(usage["completion_tokens_details"]);
  return {
    promptTokens: count(usage["prompt_tokens"]),
    cachedTokens: count(promptDetails["cached_tokens"]),
    cacheWriteTokens: count(promptDetails["cache_write_tokens"]),
    completionTokens: count(usage["completion_tokens"]),
    reasoningTokens: count(completionDetails["reasoning_tokens"]),
  };
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function asFields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw malformed("an event that is not JSON", cause);
  }
}

function malformed(what: string, cause?: unknown): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider sent an answer that cannot be read.", { internal: what, cause });
}
