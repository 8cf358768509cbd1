import type { ErrorCode } from "../../../common/errors.ts";
import type { ChatCall, ReportedUsage, StreamPart } from "./provider.ts";

/** One row of errors.json: an upstream's error, and the error code it becomes. */
export interface StoredError {
  readonly name: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly code: ErrorCode;
  readonly retryAfterSeconds?: number;
  readonly says?: string;
}

/** Parameters of the standard calls that a model may not support; fields in no list reach an adapter unchanged. */
const LACKABLE = new Set("parallel_tool_calls reasoning_effort response_format seed stop temperature tool_choice tools top_p".split(" "));

/** A call as adapters get it in production: without unsupported parameters. */
export function onlySupported(call: ChatCall, supported: readonly string[]): ChatCall {
  const fields = Object.entries(call.body).filter(([name]) => !LACKABLE.has(name) || supported.includes(name));
  return { ...call, body: { ...Object.fromEntries(fields), messages: call.body.messages } };
}

interface ToolCall {
  id: string;
  type: string;
  name: string;
  arguments: string;
}

interface Choice {
  text: string;
  others: Record<string, string>;
  toolCalls: ToolCall[];
  finishReason: string | undefined;
}

/** What a client assembles: texts joined, tool calls merged by index, arguments as values. */
export function assembleParts(parts: readonly StreamPart[]) {
  const choices: Choice[] = [];
  let usage: ReportedUsage | undefined;
  for (const part of parts) {
    if (part.type === "usage") {
      usage = part.usage;
      continue;
    }
    choices[part.choice] ??= { text: "", others: {}, toolCalls: [], finishReason: undefined };
    const choice = choices[part.choice] as Choice;
    if (part.type === "text-delta") choice.text += part.text;
    else if (part.type === "finish") choice.finishReason = part.reason;
    else takeFields(choice, part.fields);
  }
  return { choices: choices.map((choice) => ({ ...choice, toolCalls: choice.toolCalls.map(readArguments) })), usage };
}

/** Only fields that are text are compared; the others (signatures, citations) are tested by the adapter's own tests. */
const TEXT_FIELDS = ["reasoning_content", "refusal"];

function takeFields(choice: Choice, fields: Readonly<Record<string, unknown>>): void {
  for (const name of TEXT_FIELDS) {
    if (typeof fields[name] === "string" && fields[name] !== "") choice.others[name] = (choice.others[name] ?? "") + fields[name];
  }
  const deltas = (fields["tool_calls"] ?? []) as {
    index?: number;
    id?: string;
    type?: string;
    function?: { name?: string; arguments?: string };
  }[];
  for (const [position, delta] of deltas.entries()) {
    const index = delta.index ?? position;
    if (index > choice.toolCalls.length) throw new Error(`tool call ${index} comes before ${choice.toolCalls.length}`);
    choice.toolCalls[index] ??= { id: "", type: "", name: "", arguments: "" };
    const call = choice.toolCalls[index] as ToolCall;
    // Joined, as the Python client does: a repeated id or name would show.
    call.id += delta.id ?? "";
    call.type += delta.type ?? "";
    call.name += delta.function?.name ?? "";
    call.arguments += delta.function?.arguments ?? "";
  }
}

function readArguments({ id, type, name, arguments: text }: ToolCall) {
  if (id === "" || type !== "function") throw new Error(`a tool call with id "${id}" and type "${type}"`);
  return { name, arguments: JSON.parse(text) as unknown };
}

export async function readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

export function deepFrozen<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFrozen(inner);
  }
  return value;
}
