import { defined } from "../../../../common/defined.ts";
import type { Amounts, ChatAnswer, ChatCall, Fields, ReportedUsage } from "../provider.ts";
import { isJsonAnswer } from "../shared/chat-tools.ts";
import { asCount, asFields, asList, asText, malformed } from "../shared/json-fields.ts";
import { readInlineError } from "../shared/read-upstream-error.ts";

/** A Message as OpenAI's answer: texts joined, tool uses as tool calls, thinking beside them so that a caller can send it back. */
export function readAnthropicAnswer(body: unknown, call: ChatCall): ChatAnswer {
  const message = asFields(body);
  if (message["type"] === "error") throw readInlineError(body);
  if (!Array.isArray(message["content"])) throw malformed("an answer without content");
  const blocks = asList(message["content"]).map(asFields);
  const uses = blocks.filter(({ type }) => type === "tool_use");
  const jsonUse = uses.find(({ name }) => isJsonAnswer(name, call.body));
  const calls = uses.filter(({ name }) => !isJsonAnswer(name, call.body)).map(toolCallOf);
  const text = jsonUse ? JSON.stringify(jsonUse["input"] ?? {}) : textOf(blocks, "text");
  const reasoning = textOf(blocks, "thinking");
  const thinkingBlocks = blocks.flatMap((block) => thinkingBlockOf(block) ?? []);
  const finishReason = readStopReason(message["stop_reason"], { calledTools: calls.length > 0, saidAnything: blocks.length > 0 });
  const fields = {
    content: text === "" && calls.length > 0 ? null : text,
    refusal: asText(asFields(message["stop_details"])["explanation"]),
    tool_calls: calls.length > 0 ? calls : undefined,
    reasoning_content: reasoning === "" ? undefined : reasoning,
    thinking_blocks: thinkingBlocks.length > 0 ? thinkingBlocks : undefined,
    stop_sequence: asText(message["stop_sequence"]),
  };
  return {
    choices: [{ index: 0, message: defined(fields), finishReason, logprobs: null }],
    usage: readAnthropicUsage(message["usage"], { ranCode: blocks.some(isCodeRun) }),
  };
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
};

/** The stop reason as OpenAI's finish reason. Tool calls turn a plain stop into `tool_calls`, but never hide a limit or a refusal. */
export function readStopReason(reason: unknown, { calledTools, saidAnything }: { calledTools: boolean; saidAnything: boolean }): string {
  const known = FINISH_REASONS[String(reason)];
  if (known === undefined && !saidAnything) throw malformed(`an empty answer with stop_reason ${String(reason)}`);
  const finish = known ?? "stop";
  return finish === "stop" && calledTools ? "tool_calls" : finish;
}

/** Input as OpenAI counts it: cache reads and writes are part of the prompt. */
export function readAnthropicUsage(value: unknown, { ranCode = false } = {}): ReportedUsage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = value as Fields;
  const iterations = asList(usage["iterations"]).map(asFields);
  // The figures of the message are the sum of its own iterations; those of others, such as a compaction, are billed beside them.
  const counted = [usage, ...iterations.filter(({ type }) => type !== "message")];
  const sum = (name: string) => counted.reduce((total, each) => total + asCount(each[name]), 0);
  const cachedTokens = sum("cache_read_input_tokens");
  const cacheWriteTokens = sum("cache_creation_input_tokens");
  const completionTokens = sum("output_tokens");
  const hourTokens = counted.reduce((total, each) => total + asCount(asFields(each["cache_creation"])["ephemeral_1h_input_tokens"]), 0);
  const searches = asCount(asFields(usage["server_tool_use"])["web_search_requests"]);
  const thinkingTokens = asCount(asFields(usage["output_tokens_details"])["thinking_tokens"]);
  return {
    promptTokens: sum("input_tokens") + cachedTokens + cacheWriteTokens,
    cachedTokens,
    cacheWriteTokens,
    completionTokens,
    reasoningTokens: Math.min(thinkingTokens, completionTokens),
    ...(hourTokens > 0 && { cacheWriteHourTokens: hourTokens }),
    ...(iterations.length > 1 && { samplings: iterations.length }),
    ...((searches !== 0 || ranCode) && { amounts: amountsOf(searches, ranCode) }),
  };
}

/** NaN, a number that cannot be true, must reach the check of the report. */
export function amountsOf(searches: number, ranCode: boolean): Amounts {
  return { ...(searches !== 0 && { search: { input: searches, output: 0 } }), ...(ranCode && { codeSession: { input: 1, output: 0 } }) };
}

/** Whether a block shows that code ran in a container of Anthropic's. */
export function isCodeRun({ type, name }: Fields): boolean {
  return type === "server_tool_use" && /code_execution$/.test(String(name));
}

/** A thinking block with its signature, as a caller gets it and sends it back; undefined for other blocks. */
export function thinkingBlockOf(block: Fields): Fields | undefined {
  if (block["type"] === "redacted_thinking") return { type: "redacted_thinking", data: block["data"] };
  if (block["type"] !== "thinking") return undefined;
  return { type: "thinking", thinking: block["thinking"] ?? "", signature: block["signature"] ?? "" };
}

function textOf(blocks: readonly Fields[], type: "text" | "thinking"): string {
  return blocks.map((block) => (block["type"] === type ? (asText(block[type]) ?? "") : "")).join("");
}

function toolCallOf({ id, name, input }: Fields): Fields {
  return { id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } };
}
