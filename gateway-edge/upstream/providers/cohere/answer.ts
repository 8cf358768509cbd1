import { AppError } from "../../../../common/errors.ts";
import type { ChatAnswer, Fields, ReportedUsage, StreamPart, UpstreamEvent } from "../provider.ts";
import { asCount, asFields, asList, asText, brokenOff, malformed, parseEvent } from "../shared/json-fields.ts";
import { readInlineError } from "../shared/read-upstream-error.ts";

/** Cohere's finish reasons as OpenAI's; ERROR, TIMEOUT and unknown reasons are failures. */
const FINISH_REASONS: Readonly<Record<string, string>> = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  MAX_TOKENS: "length",
  TOOL_CALL: "tool_calls",
  ERROR_TOXIC: "content_filter",
};

export function readCohereAnswer(body: unknown): ChatAnswer {
  const { message: said, finish_reason: reason, usage } = asFields(body);
  if (typeof said !== "object" || said === null) throw malformed("an answer without a message");
  const message = asFields(said);
  const content = asList(message["content"]).map(asFields);
  const text = content.map((part) => asText(part["text"]) ?? "").join("");
  const thoughts = content.map((part) => asText(part["thinking"]) ?? "").join("") + (asText(message["tool_plan"]) ?? "");
  const toolCalls = asList(message["tool_calls"]).map((call) => wholeCall(asFields(call)));
  return {
    choices: [
      {
        index: 0,
        message: {
          content: text === "" && toolCalls.length > 0 ? null : text,
          ...(thoughts === "" ? {} : { reasoning_content: thoughts }),
          ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
          ...(asList(message["citations"]).length > 0 ? { citations: message["citations"] } : {}),
        },
        finishReason: finishReasonOf(reason, toolCalls.length > 0),
        logprobs: null,
      },
    ],
    usage: readUsage(usage),
  };
}

function wholeCall({ id, function: called }: Fields): Fields {
  const { name, arguments: given } = asFields(called);
  return { id, type: "function", function: { name, arguments: argumentsOf(given) } };
}

/** A function without arguments arrives as nothing, or as the text null. */
function argumentsOf(given: unknown): string {
  return typeof given !== "string" || given.trim() === "" || given.trim() === "null" ? "{}" : given;
}

function finishReasonOf(reason: unknown, called: boolean): string {
  const known = FINISH_REASONS[String(reason)];
  if (reason === "TIMEOUT")
    throw new AppError("UPSTREAM_TIMEOUT", "The provider did not answer in time.", { internal: "finish_reason TIMEOUT" });
  if (known === undefined) {
    const internal = `finish_reason ${String(reason)}`;
    throw new AppError("UPSTREAM_UNAVAILABLE", "The model gave no usable answer. Try again.", { internal });
  }
  return known === "stop" && called ? "tool_calls" : known;
}

/** Events of /v2/chat as parts. The end is message-end; a stream cut before it is broken. */
export async function* readCohereStream(events: AsyncIterable<UpstreamEvent>): AsyncGenerator<StreamPart> {
  const calls = new CallReader();
  for await (const { data } of events) {
    if (data === "[DONE]") continue;
    const event = parseEvent(data);
    const delta = asFields(event["delta"]);
    if (event["type"] === "message-end") {
      yield* readEnd(delta, calls.any);
      return;
    }
    // A failure arrives as an event without a type, with the body of an error.
    if (event["type"] === undefined || event["type"] === "error") throw readInlineError(event);
    yield* readDelta(event, asFields(delta["message"]), calls);
  }
  throw brokenOff();
}

function* readEnd(delta: Fields, called: boolean): Generator<StreamPart> {
  if (delta["error"] !== undefined && delta["error"] !== null) throw readInlineError({ error: delta["error"] });
  yield { type: "finish", choice: 0, reason: finishReasonOf(delta["finish_reason"], called) };
  const usage = readUsage(delta["usage"]);
  if (usage) yield { type: "usage", usage };
}

function* readDelta({ type }: Fields, message: Fields, calls: CallReader): Generator<StreamPart> {
  switch (type) {
    case "content-start":
    case "content-delta": {
      const { text, thinking } = asFields(message["content"]);
      if (asText(thinking)) yield other({ reasoning_content: thinking }, String(thinking));
      if (asText(text)) yield { type: "text-delta", choice: 0, text: String(text) };
      return;
    }
    case "tool-plan-delta": {
      const plan = asText(message["tool_plan"]);
      if (plan) yield other({ reasoning_content: plan }, plan);
      return;
    }
    case "tool-call-start":
      yield calls.start(asFields(message["tool_calls"]));
      return;
    case "tool-call-delta":
      yield* calls.more(asFields(message["tool_calls"]));
      return;
    case "tool-call-end":
      yield* calls.end();
      return;
    case "citation-start":
      yield other({ citations: [message["citations"]] }, "");
      return;
    default:
      // message-start, the ends, and newer events have no part of the answer.
      return;
  }
}

/** Tool calls by a running number of the gateway, each completed at its end. */
class CallReader {
  #count = 0;
  #given = "";

  get any(): boolean {
    return this.#count > 0;
  }

  start({ id, function: called }: Fields): StreamPart {
    const { name, arguments: given } = asFields(called);
    const index = this.#count++;
    this.#given = "";
    const text = this.#taken(given);
    const fields = { index, id, type: "function", function: { name, arguments: text } };
    return other({ tool_calls: [fields] }, (asText(name) ?? "") + text);
  }

  *more({ function: called }: Fields): Generator<StreamPart> {
    const text = this.#taken(asFields(called)["arguments"]);
    if (text !== "") yield this.#fragment(text);
  }

  /** A tool call that never got arguments is still a tool call, with empty arguments. */
  *end(): Generator<StreamPart> {
    if (this.#given.trim() === "" || this.#given.trim() === "null") yield this.#fragment("{}");
  }

  /** What a fragment adds; the text null, which means no arguments, is held back until more follows. */
  #taken(given: unknown): string {
    const before = this.#given;
    this.#given += asText(given) ?? "";
    if ("null".startsWith(this.#given.trim())) return "";
    return "null".startsWith(before.trim()) ? this.#given : this.#given.slice(before.length);
  }

  #fragment(text: string): StreamPart {
    return other({ tool_calls: [{ index: this.#count - 1, function: { arguments: text } }] }, text);
  }
}

function other(fields: Fields, text: string): StreamPart {
  return { type: "other-delta", choice: 0, fields, text };
}

/**
 * `billed_units` is what a call costs; `tokens` is what the model read and wrote, including Cohere's own preamble, and is used where
 * nothing is billed. Cached tokens are part of `tokens` only: all billed units cost the same.
 */
function readUsage(value: unknown): ReportedUsage | undefined {
  const { tokens, billed_units: billed, cached_tokens: cached } = asFields(value);
  const isBilled = hasCounts(billed);
  if (!isBilled && !hasCounts(tokens)) return undefined;
  const counts = asFields(isBilled ? billed : tokens);
  const promptTokens = asCount(counts["input_tokens"]);
  return {
    promptTokens,
    cachedTokens: isBilled ? 0 : Math.min(promptTokens, asCount(cached)),
    cacheWriteTokens: 0,
    completionTokens: asCount(counts["output_tokens"]),
    reasoningTokens: 0,
  };
}

function hasCounts(value: unknown): boolean {
  const { input_tokens: input, output_tokens: output } = asFields(value);
  return input !== undefined || output !== undefined;
}
