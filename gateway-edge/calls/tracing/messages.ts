import type { Attributes, SpanContent } from "../../../common/tracing/span.ts";

// Prompts and answers on the span of the attempt that answered, for callers with `logContent`: `gen_ai.` by OpenTelemetry's GenAI conventions, which
// Langfuse reads, and `input.value` and `output.value` of OpenInference, which Phoenix reads.

type Fields = Readonly<Record<string, unknown>>;

/** Prompt and answer of a call as JSON, redacted. */
export interface TracedContent {
  readonly bytes: number;
  redacted(): { readonly prompt: string; readonly answer: string | undefined };
}

export function spanContent(content: TracedContent): SpanContent {
  return { bytes: content.bytes, attributes: () => messageAttributes(content.redacted()) };
}

function messageAttributes({ prompt, answer }: { prompt: string; answer: string | undefined }): Attributes {
  const input = inputMessages(JSON.parse(prompt) as Fields);
  const output = answer === undefined ? [] : outputMessages(JSON.parse(answer) as Fields);
  return {
    ...(input.length > 0 ? { "gen_ai.input.messages": JSON.stringify(input), "input.value": prompt, "input.mime_type": JSON_TYPE } : {}),
    ...(output.length > 0
      ? { "gen_ai.output.messages": JSON.stringify(output), "output.value": answer, "output.mime_type": JSON_TYPE }
      : {}),
  };
}

const JSON_TYPE = "application/json";

interface Message {
  readonly role: string;
  readonly parts: readonly Fields[];
  readonly finish_reason?: string;
}

/** The messages of a request, whatever API it came by. */
export function inputMessages(prompt: Fields): Message[] {
  const system = ["system", "instructions"].flatMap((name) => asMessage("system", prompt[name]));
  const messages = listOf(prompt["messages"]).map((message) => messageOf(asFields(message), "user"));
  const texts = ["prompt", "query", "documents"].flatMap((name) => asMessage("user", prompt[name]));
  const { input } = prompt;
  const items = listOf(input).map((item) => (isFields(item) ? messageOf(item, "user") : { role: "user", parts: partsOf(item) }));
  return [...system, ...messages, ...texts, ...(Array.isArray(input) ? items : asMessage("user", input))];
}

/** The messages of an answer: a choice each, or what a provider's own API returned. */
export function outputMessages(answer: Fields): Message[] {
  const choices = listOf(answer["choices"]).map((value) => {
    const choice = asFields(value);
    const message = messageOf(asFields(choice["message"] ?? { content: choice["text"] }), "assistant");
    return { ...message, finish_reason: String(choice["finish_reason"] ?? "") };
  });
  const own = answer["content"] ?? answer["output"];
  const finish = String(answer["stop_reason"] ?? answer["status"] ?? "");
  return own === undefined ? choices : [...choices, { role: "assistant", parts: partsOf(own), finish_reason: finish }];
}

function asMessage(role: string, content: unknown): Message[] {
  return content === undefined || content === null ? [] : [{ role, parts: partsOf(content) }];
}

function messageOf(message: Fields, role: string): Message {
  const { role: given, content, reasoning_content: reasoning, tool_calls: calls, tool_call_id: id } = message;
  const isResponse = id !== undefined;
  return {
    role: typeof given === "string" ? given : role,
    parts: [
      ...(typeof reasoning === "string" ? [{ type: "reasoning", content: reasoning }] : []),
      ...(isResponse ? [{ type: "tool_call_response", id, response: content }] : partsOf(content ?? (given === undefined ? message : ""))),
      ...listOf(calls).map((call) => toolCall(asFields(call))),
    ],
  };
}

function toolCall({ id, function: called }: Fields): Fields {
  const { name, arguments: given } = asFields(called);
  return { type: "tool_call", id, name, arguments: given };
}

/** Text as the convention's text part; other parts keep their own type. */
function partsOf(content: unknown): Fields[] {
  if (content === "") return [];
  if (typeof content === "string") return [{ type: "text", content }];
  if (!Array.isArray(content))
    return [isFields(content) ? { type: "other", ...content } : { type: "text", content: JSON.stringify(content) }];
  return content.map((part: unknown) => {
    if (typeof part === "string") return { type: "text", content: part };
    const fields = asFields(part);
    return typeof fields["text"] === "string" ? { type: "text", content: fields["text"] } : { type: "other", ...fields };
  });
}

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const asFields = (value: unknown): Fields => (isFields(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
