import type { ChatAnswer, Fields } from "../../../upstream/providers/provider.ts";

/** Every text of a chat request's messages, including tool calls and their results. */
export function mapMessages(request: Fields, map: (text: string) => string): Fields {
  const messages = request["messages"];
  return { ...request, messages: Array.isArray(messages) ? messages.map((message) => mapMessage(message as Fields, map)) : messages };
}

export function mapChatAnswer(answer: ChatAnswer, map: (text: string) => string): ChatAnswer {
  return { ...answer, choices: answer.choices.map((choice) => withMessage(choice, mapMessage(choice.message, map))) };
}

/** Log-probabilities repeat the text, so they are removed when the text changes. */
function withMessage(choice: ChatAnswer["choices"][number], message: Fields): ChatAnswer["choices"][number] {
  const isSame = JSON.stringify(message) === JSON.stringify(choice.message);
  return { ...choice, message, logprobs: isSame ? choice.logprobs : null };
}

const TEXT_FIELDS = ["reasoning_content", "refusal"] as const;

/** A message of a request or of an answer, or the merged deltas of one. */
export function mapMessage(message: Fields, map: (text: string) => string): Fields {
  const mapped: Record<string, unknown> = { ...message };
  if (message["content"] !== undefined) mapped["content"] = mapContent(message["content"], map);
  for (const name of TEXT_FIELDS) if (typeof message[name] === "string") mapped[name] = map(message[name]);
  if (Array.isArray(message["tool_calls"])) mapped["tool_calls"] = message["tool_calls"].map((call) => mapCall(call as Fields, map));
  if (isFields(message["function_call"])) mapped["function_call"] = mapArguments(message["function_call"], map);
  return mapped;
}

function mapContent(content: unknown, map: (text: string) => string): unknown {
  if (typeof content === "string") return map(content);
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown) => {
    if (!isFields(part)) return part;
    if (typeof part["text"] === "string") return { ...part, text: map(part["text"]) };
    if (part["type"] === "thinking") return { ...part, thinking: mapContent(part["thinking"], map) };
    return typeof part["refusal"] === "string" ? { ...part, refusal: map(part["refusal"]) } : part;
  });
}

function mapCall(call: Fields, map: (text: string) => string): Fields {
  return isFields(call["function"]) ? { ...call, function: mapArguments(call["function"], map) } : call;
}

function mapArguments(called: Fields, map: (text: string) => string): Fields {
  return typeof called["arguments"] === "string" ? { ...called, arguments: map(called["arguments"]) } : called;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
