/** Readers of answers that know nothing of the gateway's adapters: what was said, which tools were called, and the usage. */

export type Fields = Readonly<Record<string, unknown>>;

export interface ToolCall {
  readonly name: string;
  /** As canonical JSON. */
  readonly arguments: string;
}

export interface Said {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Undefined: the answer has no usage. */
  readonly usage?: { readonly input: number; readonly output: number } | undefined;
}

export type Reader = (body: string, isStream: boolean) => Said;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
export const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

/** The data of each event of a stream, as JSON. */
export function eventsOf(body: string): Fields[] {
  return body
    .split(/\r?\n\r?\n/)
    .map((frame) =>
      frame
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith("data:") ? [line.slice(5).replace(/^ /, "")] : []))
        .join("\n"),
    )
    .filter((data) => data !== "" && data !== "[DONE]")
    .map((data) => fieldsOf(JSON.parse(data)));
}

/** Arguments in whatever notation, so that equal ones are equal texts. */
function canonical(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(sorted(value ?? {}));
  try {
    return JSON.stringify(sorted(JSON.parse(value === "" ? "{}" : value) ?? {}));
  } catch {
    return value;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}

const callsOf = (calls: Iterable<{ name: string; json: string }>): ToolCall[] =>
  [...calls].map(({ name, json }) => ({ name, arguments: canonical(json) }));

/** OpenAI's Chat Completions. */
export const openAiSaid: Reader = (body, isStream) => {
  if (!isStream) {
    const { choices, usage } = fieldsOf(JSON.parse(body));
    const message = fieldsOf(listOf(choices)[0]?.["message"]);
    const calls = listOf(message["tool_calls"]).map((call) => fieldsOf(call["function"]));
    return {
      text: contentText(message["content"]),
      calls: callsOf(calls.map(({ name, arguments: json }) => ({ name: textOf(name), json: textOf(json) }))),
      usage: openAiUsage(usage),
    };
  }
  const calls = new Map<unknown, { name: string; json: string }>();
  let text = "";
  let usage: Said["usage"];
  for (const event of eventsOf(body)) {
    usage = openAiUsage(event["usage"] ?? fieldsOf(event["x_groq"])["usage"]) ?? usage;
    const choice = listOf(event["choices"])[0];
    if (!choice || numberOf(choice["index"]) !== 0) continue;
    const delta = fieldsOf(choice["delta"]);
    text += contentText(delta["content"]);
    for (const [position, call] of listOf(delta["tool_calls"]).entries())
      addCall(calls, call["index"] ?? position, fieldsOf(call["function"]));
  }
  return { text, calls: callsOf(calls.values()), usage };
};

function addCall(calls: Map<unknown, { name: string; json: string }>, key: unknown, { name, arguments: json }: Fields): void {
  const call = calls.get(key) ?? { name: "", json: "" };
  const piece = typeof json === "object" && json !== null ? JSON.stringify(json) : textOf(json);
  calls.set(key, { name: call.name || textOf(name), json: call.json + piece });
}

/** A text, or parts of which some are text. */
function contentText(content: unknown): string {
  return typeof content === "string"
    ? content
    : listOf(content)
        .map(({ text }) => textOf(text))
        .join("");
}

function openAiUsage(value: unknown): Said["usage"] {
  const usage = fieldsOf(value);
  const [input, output, total] = ["prompt_tokens", "completion_tokens", "total_tokens"].map((name) => numberOf(usage[name]));
  if (usage["prompt_tokens"] === undefined) return undefined;
  const reasoning = numberOf(fieldsOf(usage["completion_tokens_details"])["reasoning_tokens"] ?? usage["reasoning_tokens"]);
  // Some count reasoning beside the completion.
  const isBeside = reasoning > 0 && total === (input ?? 0) + (output ?? 0) + reasoning;
  return { input: input ?? 0, output: (output ?? 0) + (isBeside ? reasoning : 0) };
}

/** Anthropic's Messages. */
export const anthropicSaid: Reader = (body, isStream) => {
  const message = isStream ? assembledMessage(eventsOf(body)) : fieldsOf(JSON.parse(body));
  const blocks = listOf(message["content"]);
  return {
    text: blocks.map((block) => (block["type"] === "text" ? textOf(block["text"]) : "")).join(""),
    calls: blocks.flatMap(({ type, name, input }) => (type === "tool_use" ? [{ name: textOf(name), arguments: canonical(input) }] : [])),
    usage: anthropicUsage(message["usage"]),
  };
};

/** What the message cost: its own tokens and those of the iterations beside it. */
function anthropicUsage(value: unknown): Said["usage"] {
  const usage = fieldsOf(value);
  const all = [usage, ...listOf(usage["iterations"]).filter(({ type }) => type !== "message")];
  const sum = (...names: string[]) => all.reduce((total, each) => total + names.reduce((part, name) => part + numberOf(each[name]), 0), 0);
  const input = sum("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens");
  return usage["output_tokens"] === undefined ? undefined : { input, output: sum("output_tokens") };
}

/** The message that a stream's events make. */
function assembledMessage(events: readonly Fields[]): Fields {
  let message: Fields = {};
  const blocks: Record<string, unknown>[] = [];
  for (const event of events) {
    const { type, index, delta: value, usage } = event;
    const delta = fieldsOf(value);
    if (type === "message_start") message = fieldsOf(event["message"]);
    if (type === "content_block_start") blocks[numberOf(index)] = { ...fieldsOf(event["content_block"]) };
    if (type === "message_delta") message = { ...message, ...delta, usage: { ...fieldsOf(message["usage"]), ...fieldsOf(usage) } };
    const block = blocks[numberOf(index)];
    if (type !== "content_block_delta" || !block) continue;
    if (typeof delta["text"] === "string") block["text"] = textOf(block["text"]) + delta["text"];
    if (typeof delta["partial_json"] === "string") block["json"] = textOf(block["json"]) + delta["partial_json"];
  }
  const content = blocks.map(({ json, ...block }) => (json === undefined ? block : { ...block, input: JSON.parse(textOf(json) || "{}") }));
  return { ...message, content };
}

/** OpenAI's Responses. */
export const responsesSaid: Reader = (body, isStream) => {
  const last = isStream ? eventsOf(body).findLast(({ type }) => /^response\.(completed|incomplete|failed)$/.test(String(type))) : undefined;
  const response = isStream ? fieldsOf(last?.["response"]) : fieldsOf(JSON.parse(body));
  const output = listOf(response["output"]);
  const usage = fieldsOf(response["usage"]);
  return {
    text: output.flatMap(({ content }) => listOf(content).map(({ type, text }) => (type === "output_text" ? textOf(text) : ""))).join(""),
    calls: output.flatMap(({ type, name, arguments: json }) =>
      type === "function_call" ? [{ name: textOf(name), arguments: canonical(textOf(json)) }] : [],
    ),
    usage:
      usage["input_tokens"] === undefined
        ? undefined
        : { input: numberOf(usage["input_tokens"]), output: numberOf(usage["output_tokens"]) },
  };
};

/** Google's generateContent. */
export const geminiSaid: Reader = (body, isStream) => {
  const chunks = isStream ? eventsOf(body) : [fieldsOf(JSON.parse(body))];
  const parts = chunks.flatMap(({ candidates }) => listOf(fieldsOf(listOf(candidates)[0]?.["content"])["parts"]));
  const usage: Fields = Object.assign({}, ...chunks.map((chunk) => fieldsOf(chunk["usageMetadata"])));
  const [prompt, tools, answer, thoughts, total] = [
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
  ].map((name) => numberOf(usage[name])) as [number, number, number, number, number];
  const output = usage["candidatesTokenCount"] === undefined ? Math.max(0, total - prompt - tools) : answer + thoughts;
  const isReported = usage["promptTokenCount"] !== undefined;
  return {
    text: parts.map(({ text, thought }) => (thought === true ? "" : textOf(text))).join(""),
    calls: parts.flatMap(({ functionCall }) => {
      const { name, args } = fieldsOf(functionCall);
      return functionCall === undefined ? [] : [{ name: textOf(name), arguments: canonical(args) }];
    }),
    usage: isReported ? { input: prompt + tools, output } : undefined,
  };
};

/** Cohere's chat, version 2. */
export const cohereSaid: Reader = (body, isStream) => {
  if (!isStream) {
    const { message, usage } = fieldsOf(JSON.parse(body));
    const { content, tool_calls: calls } = fieldsOf(message);
    const called = listOf(calls).map((call) => fieldsOf(call["function"]));
    return {
      text: contentText(content),
      calls: callsOf(called.map(({ name, arguments: json }) => ({ name: textOf(name), json: textOf(json) }))),
      usage: cohereUsage(usage),
    };
  }
  const calls = new Map<unknown, { name: string; json: string }>();
  let text = "";
  let usage: Said["usage"];
  for (const { type, index, delta } of eventsOf(body)) {
    const { message, usage: reported } = fieldsOf(delta);
    const { content, tool_calls: call } = fieldsOf(message);
    if (type === "content-delta") text += textOf(fieldsOf(content)["text"]);
    if (type === "tool-call-start" || type === "tool-call-delta") addCall(calls, index, fieldsOf(fieldsOf(call)["function"]));
    if (type === "message-end") usage = cohereUsage(reported);
  }
  return { text, calls: callsOf(calls.values()), usage };
};

function cohereUsage(value: unknown): Said["usage"] {
  const { input_tokens: input, output_tokens: output } = fieldsOf(fieldsOf(value)["billed_units"] ?? fieldsOf(value)["tokens"]);
  return input === undefined ? undefined : { input: numberOf(input), output: numberOf(output) };
}

/** Ollama's chat: one JSON object, or one a line. */
export const ollamaSaid: Reader = (body) => {
  const chunks = body
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => fieldsOf(JSON.parse(line)));
  const calls = chunks.flatMap(({ message }) => listOf(fieldsOf(message)["tool_calls"])).map((call) => fieldsOf(call["function"]));
  const last = chunks.at(-1) ?? {};
  return {
    text: chunks.map(({ message }) => textOf(fieldsOf(message)["content"])).join(""),
    calls: calls.map(({ name, arguments: given }) => ({ name: textOf(name), arguments: canonical(given) })),
    usage:
      last["prompt_eval_count"] === undefined
        ? undefined
        : { input: numberOf(last["prompt_eval_count"]), output: numberOf(last["eval_count"]) },
  };
};

/** Bedrock's Converse; the events of a stream as pairs of name and data. */
export function bedrockSaid(events: readonly (readonly [name: string | undefined, fields: Fields])[] | Fields): Said {
  if (!Array.isArray(events)) {
    const { output, usage } = events as Fields;
    const blocks = listOf(fieldsOf(fieldsOf(output)["message"])["content"]);
    return {
      text: blocks.map(({ text }) => textOf(text)).join(""),
      calls: blocks.flatMap(({ toolUse }) => {
        const { name, input, type } = fieldsOf(toolUse);
        return toolUse === undefined || type === "server_tool_use" ? [] : [{ name: textOf(name), arguments: canonical(input) }];
      }),
      usage: bedrockUsage(usage),
    };
  }
  const calls = new Map<unknown, { name: string; json: string }>();
  let text = "";
  let usage: Said["usage"];
  for (const [event, fields] of events as readonly (readonly [string | undefined, Fields])[]) {
    const index = fields["contentBlockIndex"];
    const { name, type } = fieldsOf(fieldsOf(fields["start"])["toolUse"]);
    const delta = fieldsOf(fields["delta"]);
    if (event === "contentBlockStart" && name !== undefined && type !== "server_tool_use")
      calls.set(index, { name: textOf(name), json: "" });
    if (event === "contentBlockDelta") text += textOf(delta["text"]);
    const call = calls.get(index);
    if (call && event === "contentBlockDelta") call.json += textOf(fieldsOf(delta["toolUse"])["input"]);
    if (event === "metadata") usage = bedrockUsage(fields["usage"]);
  }
  return { text, calls: callsOf(calls.values()), usage };
}

function bedrockUsage(value: unknown): Said["usage"] {
  const usage = fieldsOf(value);
  const input = ["inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"].reduce((sum, name) => sum + numberOf(usage[name]), 0);
  return usage["inputTokens"] === undefined ? undefined : { input, output: numberOf(usage["outputTokens"]) };
}
