import { defined } from "../../../../common/defined.ts";
import type { ChatAnswer, ChatCall, Fields, ReportedUsage } from "../provider.ts";
import { isJsonAnswer } from "../shared/chat-tools.ts";
import { asCount, asFields, asText, malformed } from "../shared/json-fields.ts";

/** Converse's answer as OpenAI's: texts joined unchanged, tool uses as tool calls, reasoning beside them so that a caller can send it back. */
export function readBedrockAnswer(body: unknown, call: ChatCall): ChatAnswer {
  const answer = asFields(body);
  const { content } = asFields(asFields(answer["output"])["message"]);
  if (!Array.isArray(content)) throw malformed("an answer without a message");
  const blocks = content.map(asFields);
  const uses = blocks.flatMap(({ toolUse }) => (toolUse === undefined || isServerTool(asFields(toolUse)) ? [] : [asFields(toolUse)]));
  const jsonUse = uses.find(({ name }) => isJsonAnswer(name, call.body));
  const calls = uses.filter(({ name }) => !isJsonAnswer(name, call.body)).map(toolCallOf);
  const text = jsonUse ? JSON.stringify(jsonUse["input"] ?? {}) : blocks.map((block) => asText(block["text"]) ?? "").join("");
  const reasoning = blocks.flatMap(({ reasoningContent }) => (reasoningContent === undefined ? [] : [asFields(reasoningContent)]));
  const reasoningText = reasoning.map(({ reasoningText: inner }) => asText(asFields(inner)["text"]) ?? "").join("");
  const finishReason = readStopReason(answer["stopReason"], { calledTools: calls.length > 0, saidAnything: blocks.length > 0 });
  const message = {
    content: text === "" && calls.length > 0 ? null : text,
    tool_calls: calls.length > 0 ? calls : undefined,
    reasoning_content: reasoningText === "" ? undefined : reasoningText,
    thinking_blocks: reasoning.length > 0 ? reasoning.map(thinkingBlockOf) : undefined,
  };
  return {
    choices: [{ index: 0, message: defined(message), finishReason, logprobs: null }],
    usage: readBedrockUsage(answer["usage"], answer["trace"]),
  };
}

/** A tool that Bedrock ran itself: there is nothing to call. */
export function isServerTool({ type }: Fields): boolean {
  return type === "server_tool_use";
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
};
/** The model's output cannot be used: a failure, not a finish. */
const FAILURES = new Set(["malformed_model_output", "malformed_tool_use"]);

/** The stop reason as OpenAI's finish reason. Tool calls turn a plain stop into `tool_calls`, but never hide a limit or a filter. */
export function readStopReason(reason: unknown, { calledTools, saidAnything }: { calledTools: boolean; saidAnything: boolean }): string {
  const known = FINISH_REASONS[String(reason)];
  if (FAILURES.has(String(reason)) || (known === undefined && !saidAnything))
    throw malformed(`an answer that ended with ${String(reason)}`);
  const finish = known ?? "stop";
  return finish === "stop" && calledTools ? "tool_calls" : finish;
}

/** Input as OpenAI counts it: cache reads and writes are part of the prompt. */
export function readBedrockUsage(value: unknown, trace?: unknown): ReportedUsage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = value as Fields;
  const cachedTokens = asCount(usage["cacheReadInputTokens"]);
  const cacheWriteTokens = asCount(usage["cacheWriteInputTokens"]);
  return {
    promptTokens: asCount(usage["inputTokens"]) + cachedTokens + cacheWriteTokens,
    cachedTokens,
    cacheWriteTokens,
    completionTokens: asCount(usage["outputTokens"]),
    reasoningTokens: 0,
    ...guardrailUnits(trace),
  };
}

/** Text units of the guardrail's policies; word filters are free. */
function guardrailUnits(trace: unknown): Pick<ReportedUsage, "amounts"> {
  const { inputAssessment, outputAssessments } = asFields(asFields(trace)["guardrail"]);
  const assessments = [...Object.values(asFields(inputAssessment)), ...Object.values(asFields(outputAssessments)).flat()];
  const usages = assessments.map((each) => asFields(asFields(asFields(each)["invocationMetrics"])["usage"]));
  const units = usages.reduce((sum, usage) => sum + PAID_POLICIES.reduce((own, name) => own + asCount(usage[name]), 0), 0);
  return units === 0 ? {} : { amounts: { guardrailUnit: { input: units, output: 0 } } };
}

const PAID_POLICIES = ["topicPolicyUnits", "contentPolicyUnits", "sensitiveInformationPolicyUnits", "contextualGroundingPolicyUnits"];

/** A reasoning block with its signature, as a caller gets it and sends it back: in the same format as from Anthropic itself. */
export function thinkingBlockOf({ reasoningText, redactedContent }: Fields): Fields {
  if (redactedContent !== undefined) return { type: "redacted_thinking", data: redactedContent };
  const { text, signature } = asFields(reasoningText);
  return { type: "thinking", thinking: text ?? "", signature: signature ?? "" };
}

function toolCallOf({ toolUseId, name, input }: Fields): Fields {
  return { id: toolUseId, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } };
}
