import { AppError } from "../../../../common/errors.ts";
import { cohereRules } from "../../../../common/providers/cohere.ts";
import type { ChatBody, ChatCall, ChatMessage, Fields, ProviderTarget } from "../provider.ts";
import { asFields, asList, asText, present } from "../shared/json-fields.ts";

/** Cohere's own fields, which are sent unchanged. */
const UNTOUCHED = ["documents", "citation_options", "safety_mode", "temperature", "seed"] as const;

/** The body of /v2/chat. */
export function cohereBody({ body, stream, maxOutputTokens }: ChatCall, { inferenceModelId }: ProviderTarget): string {
  const stop = typeof body["stop"] === "string" ? [body["stop"]] : asList(body["stop"]);
  return JSON.stringify({
    model: inferenceModelId,
    messages: body.messages.map(messageOf),
    max_tokens: maxOutputTokens,
    ...present({
      ...Object.fromEntries(UNTOUCHED.map((name) => [name, body[name]])),
      p: body["top_p"],
      k: body["top_k"],
      stop_sequences: stop.length > 0 ? stop : undefined,
      frequency_penalty: penalty(body["frequency_penalty"]),
      presence_penalty: penalty(body["presence_penalty"]),
      response_format: answerFormat(asFields(body["response_format"])),
      thinking: body["thinking"] ?? thinkingOf(body["reasoning_effort"], inferenceModelId),
      stream: stream ? true : undefined,
    }),
    ...toolsOf(body),
  });
}

/** OpenAI's range is -2 to 2, Cohere's 0 to 1. */
function penalty(value: unknown): number | undefined {
  return typeof value === "number" ? Math.min(1, Math.max(0, value)) : undefined;
}

function answerFormat({ type, json_schema: format }: Fields): Fields | undefined {
  if (type === "json_object") return { type };
  if (type !== "json_schema") return undefined;
  return { type: "json_object", ...present({ json_schema: asFields(format)["schema"] }) };
}

function thinkingOf(effort: unknown, inferenceModelId: string): Fields | undefined {
  const budgets = cohereRules(inferenceModelId).thinkingBudgets;
  if (effort === undefined || budgets === undefined) return undefined;
  const budget = Object.hasOwn(budgets, String(effort)) ? budgets[String(effort)] : undefined;
  if (budget === undefined)
    throw invalid(`This model does not support reasoning_effort ${String(effort).slice(0, 32)}.`, "reasoning_effort");
  return budget === 0 ? { type: "disabled" } : { type: "enabled", token_budget: budget };
}

/** Cohere takes `required` or `none`, but no name: for a named tool only that one is offered. */
function toolsOf(body: ChatBody): Fields {
  const tools = asList(body["tools"]).map(toolOf);
  if (tools.length === 0) return {};
  const choice = body["tool_choice"];
  if (choice === undefined || choice === "auto") return { tools };
  if (choice === "required" || choice === "none") return { tools, tool_choice: choice === "none" ? "NONE" : "REQUIRED" };
  const name = asFields(asFields(choice)["function"])["name"];
  const named = tools.filter((tool) => tool.function["name"] === name);
  if (named.length === 0)
    throw invalid("tool_choice must be auto, none, required or the name of a function among the tools.", "tool_choice");
  return { tools: named, tool_choice: "REQUIRED" };
}

function toolOf(tool: unknown): { type: "function"; function: Fields } {
  const { type, function: declared } = asFields(tool);
  const { name, description, parameters } = asFields(declared);
  if (type !== "function" || typeof name !== "string") throw invalid("This model takes only function tools.", "tools");
  return {
    type,
    function: { name, ...present({ description: asText(description) }), parameters: parameters ?? { type: "object", properties: {} } },
  };
}

function messageOf(message: ChatMessage): Fields {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: textOf(message.content) };
    case "assistant":
      return assistantOf(message);
    case "tool":
      return { role: "tool", tool_call_id: message["tool_call_id"], content: textOf(message.content) };
    case "function":
      return { role: "tool", tool_call_id: legacyId(message), content: textOf(message.content) };
    default:
      return { role: "user", content: Array.isArray(message.content) ? message.content.map(userPart) : message.content };
  }
}

/** Beside tool calls Cohere has no content: text before them is the model's plan. */
function assistantOf(message: ChatMessage): Fields {
  const text = textOf(message.content);
  // A client that repeats a whole answer repeats its nulls.
  const legacy = message["function_call"] ?? undefined;
  const calls = [...asList(message["tool_calls"]), ...(legacy === undefined ? [] : [{ id: legacyId(legacy), function: legacy }])];
  if (calls.length === 0) return { role: "assistant", content: text };
  const toolCalls = calls.map(asFields).map(({ id, function: called }) => {
    const { name, arguments: given } = asFields(called);
    return { id, type: "function", function: { name, arguments: asText(given) ?? "{}" } };
  });
  const plan = text === "" ? asText(message["reasoning_content"]) : text;
  return { role: "assistant", tool_calls: toolCalls, ...present({ tool_plan: plan }) };
}

function userPart(part: unknown): Fields {
  const { type, text, image_url: image } = asFields(part);
  if (type === "text") return { type, text };
  if (type === "image_url") return { type, image_url: typeof image === "string" ? { url: image } : image };
  throw invalid(`This model does not support content parts of the type ${String(type).slice(0, 64)}.`, "messages");
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return asList(content)
    .map((part) => asText(asFields(part)["text"]) ?? asText(asFields(part)["refusal"]) ?? "")
    .join("");
}

/** Legacy function calls have no id; a function is called once before its result. */
function legacyId(named: unknown): string {
  return `function_${String(asFields(named)["name"])}`;
}

function invalid(message: string, param: string): AppError {
  return new AppError("INVALID_REQUEST", message, { param });
}
