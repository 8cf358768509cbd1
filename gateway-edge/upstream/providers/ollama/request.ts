import { AppError } from "../../../../common/errors.ts";
import { withoutEmptyTools } from "../openai-compatible/answer.ts";
import type { ChatCall, Fields, ProviderTarget } from "../provider.ts";
import { readArguments } from "../shared/chat-turns.ts";
import { asFields, asList, asText, present } from "../shared/json-fields.ts";

/** OpenAI's names of Ollama's options. */
const OPTIONS: Readonly<Record<string, string>> = {
  temperature: "temperature",
  top_p: "top_p",
  top_k: "top_k",
  min_p: "min_p",
  seed: "seed",
  frequency_penalty: "frequency_penalty",
  presence_penalty: "presence_penalty",
  repetition_penalty: "repeat_penalty",
};

/** A chat body in the format of Ollama's own API. */
export function ollamaChatFields({ body, stream, maxOutputTokens }: ChatCall, target: ProviderTarget): Fields {
  const { stop, response_format: format, reasoning_effort: effort } = body;
  const given = Object.entries(OPTIONS).flatMap(([name, own]) => (body[name] === undefined ? [] : [[own, body[name]]]));
  return present({
    model: target.inferenceModelId,
    messages: messagesFor(body.messages),
    stream,
    tools: toolsFor(withoutEmptyTools(body)),
    format: formatFor(asFields(format)),
    think: thinkFor(asText(effort), target.inferenceModelId),
    keep_alive: target.params["keep_alive"],
    options: present({
      ...Object.fromEntries(given),
      stop: typeof stop === "string" ? [stop] : stop,
      num_predict: maxOutputTokens,
      // Without it Ollama silently truncates a prompt longer than a few thousand tokens.
      num_ctx: target.params["num_ctx"],
    }),
  });
}

/** There is no tool choice: `none` removes the tools, a named one leaves only that; `required` is left to the model. */
function toolsFor({ tools, tool_choice: choice }: Fields): readonly unknown[] | undefined {
  if (!Array.isArray(tools) || choice === "none") return undefined;
  const name = asText(asFields(asFields(choice)["function"])["name"]);
  return name === undefined ? tools : tools.filter((tool) => asFields(asFields(tool)["function"])["name"] === name);
}

function formatFor(format: Fields): unknown {
  if (format["type"] === "json_object") return "json";
  return format["type"] === "json_schema" ? (asFields(format["json_schema"])["schema"] ?? "json") : undefined;
}

/** Only gpt-oss has levels of thinking; other models have on and off. */
function thinkFor(effort: string | undefined, model: string): boolean | string | undefined {
  if (effort === undefined) return undefined;
  if (effort === "none") return false;
  if (!model.startsWith("gpt-oss")) return effort !== "minimal";
  return effort === "minimal" ? "low" : ["low", "medium", "high"].includes(effort) ? effort : "high";
}

function messagesFor(messages: readonly Fields[]): Fields[] {
  const toolNames = new Map<unknown, unknown>();
  return inOrderOfCalls(messages).map((message) => {
    const { role, content } = message;
    const { text, images } = splitParts(content);
    if (role === "assistant") return assistantFor(message, { text, toolNames });
    // A result names its tool; OpenAI's only has the id of the tool call.
    if (role === "tool") return present({ role, content: text, tool_name: toolNames.get(message["tool_call_id"]) ?? message["name"] });
    if (role === "function") return present({ role: "tool", content: text, tool_name: message["name"] });
    return present({ role: role === "developer" ? "system" : role, content: text, images: images.length > 0 ? images : undefined });
  });
}

/** Results have no ids here: two results of one tool differ only by their order, which is that of their calls. */
function inOrderOfCalls(messages: readonly Fields[]): readonly Fields[] {
  const places = new Map<unknown, number>();
  const placed = messages.map((message, index) => {
    if (message["role"] !== "tool") {
      for (const call of asList(message["tool_calls"])) places.set(asFields(call)["id"], places.size);
      return { message, turn: index, place: 0 };
    }
    return { message, turn: -1, place: places.get(message["tool_call_id"]) ?? places.size };
  });
  // A run of results is one turn, that of the message before it.
  for (const [index, each] of placed.entries())
    if (each.turn < 0) each.turn = (placed[index - 1]?.turn ?? 0) + (isResult(placed[index - 1]) ? 0 : 0.5);
  return placed.toSorted((left, right) => left.turn - right.turn || left.place - right.place).map(({ message }) => message);
}

function isResult(placed: { readonly message: Fields } | undefined): boolean {
  return placed?.message["role"] === "tool";
}

function assistantFor(message: Fields, { text, toolNames }: { text: string; toolNames: Map<unknown, unknown> }): Fields {
  const called =
    message["function_call"] === undefined || message["function_call"] === null ? [] : [{ function: message["function_call"] }];
  const calls = [...asList(message["tool_calls"]), ...called].map(asFields).map((call) => {
    const { name, arguments: given } = asFields(call["function"]);
    if (call["id"] !== undefined) toolNames.set(call["id"], name);
    return { function: { name, arguments: argumentsOf(given) } };
  });
  return present({
    role: "assistant",
    content: text,
    thinking: asText(message["reasoning_content"]),
    tool_calls: calls.length > 0 ? calls : undefined,
  });
}

function argumentsOf(given: unknown): Fields {
  return typeof given === "string" ? readArguments(given) : asFields(given);
}

function splitParts(content: unknown): { text: string; images: string[] } {
  if (!Array.isArray(content)) return { text: asText(content) ?? "", images: [] };
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of content.map(asFields)) {
    const text = asText(part["text"]) ?? asText(part["refusal"]);
    if (part["type"] === "image_url") images.push(imageOf(part["image_url"]));
    else if (text !== undefined) texts.push(text);
    // The thinking of an earlier answer is in reasoning_content, or of another provider.
    else if (part["type"] !== "thinking") throw unsupportedPart(part);
  }
  return { text: texts.join(""), images };
}

function unsupportedPart({ type }: Fields): AppError {
  const message = `This model does not support content parts of the type ${String(type).slice(0, 64)}.`;
  return new AppError("INVALID_REQUEST", message, { param: "messages" });
}

/** Base64 without its `data:` prefix; Ollama fetches nothing. */
function imageOf(image: unknown): string {
  const url = asText(image) ?? asText(asFields(image)["url"]) ?? "";
  const data = /^data:[^,]*;base64,(.+)$/s.exec(url)?.[1];
  if (data === undefined) {
    throw new AppError("INVALID_REQUEST", "This model takes images only as base64 data URLs.", { param: "messages" });
  }
  return data;
}
