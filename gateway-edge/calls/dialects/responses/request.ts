import { defined } from "../../../../common/defined.ts";
import { AppError } from "../../../../common/errors.ts";
import type { ChatRequest } from "../../../schemas/calls/chat.ts";
import { type ResponsesRequest, responsesRequest } from "../../../schemas/calls/responses.ts";
import type { ChatMessage, Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList } from "../../../upstream/providers/shared/json-fields.ts";
import { refuseChatOnlyFields } from "../chat-only-fields.ts";
import { plainMessages } from "../plain-messages.ts";
import { chatMessages } from "./items.ts";

/** Fields of this API that the gateway does not have. */
const REFUSED = ["context_management"];

export function refuseUnsupported(request: ResponsesRequest): void {
  refuseChatOnlyFields(request, responsesRequest.shape);
  const refused = REFUSED.find((name) => request[name] !== undefined);
  if (refused)
    throw new AppError("UNSUPPORTED_PARAMETER", `The parameter ${refused} is not supported by this gateway.`, { param: refused });
  const { background, store, conversation, previous_response_id: previous } = request;
  if (conversation !== undefined && previous !== undefined) {
    throw invalid("previous_response_id", "cannot be given together with conversation.");
  }
  if (background !== true) return;
  if (store === false) throw invalid("store", "a background response is read by its id, so it must be stored.");
}

function invalid(param: string, message: string): AppError {
  return new AppError("INVALID_REQUEST", `${param}: ${message}`, { param });
}

/** Input as items; a text is a user message. */
export function inputItems(input: ResponsesRequest["input"]): readonly Fields[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: [{ type: "input_text", text: input }] }];
  return input ?? [];
}

/** A request as a chat request over its conversation: the stored turns before it and its own input. */
export function toChatRequest(request: ResponsesRequest, items: readonly Fields[]): ChatRequest {
  const { instructions } = request;
  const before: ChatMessage[] = instructions === undefined ? [] : [{ role: "system", content: instructions }];
  const messages = [...before, ...chatMessages(items)];
  if (messages.length === before.length) throw new AppError("INVALID_REQUEST", "input: must not be empty.", { param: "input" });
  // Safe: the messages are built here, in the form of the chat schema.
  return { ...chatFields(request), messages } as unknown as ChatRequest;
}

/** The fields of a request beside its conversation, as chat has them. */
export function chatFields(request: ResponsesRequest): Fields {
  const { max_output_tokens, stream, temperature, top_p, parallel_tool_calls, text, reasoning } = request;
  const offer = toolsOf(request);
  return defined({
    ...untranslated(request),
    model: request.model,
    max_tokens: max_output_tokens,
    stream,
    temperature,
    top_p,
    ...logprobsOf(request),
    ...offer,
    parallel_tool_calls: offer.tools ? parallel_tool_calls : undefined,
    response_format: formatOf(asFields(text?.format)),
    verbosity: text?.verbosity ?? undefined,
    reasoning_effort: reasoning?.effort ?? undefined,
  });
}

/** The same with fields of Chat Completions alone. */
export function toPlainChat(request: ChatRequest): ChatRequest {
  return { ...request, messages: plainMessages(request.messages as readonly ChatMessage[]) as ChatRequest["messages"] };
}

/** The one answer field that needs a chat parameter; callers name it in `include`. */
const LOGPROBS = "message.output_text.logprobs";

function logprobsOf({ top_logprobs: top, include = [] }: ResponsesRequest): Fields {
  const isAsked = include.includes(LOGPROBS) || (top !== undefined && top > 0);
  return isAsked ? { logprobs: true, top_logprobs: top } : {};
}

const TRANSLATED = new Set([
  "input",
  "instructions",
  "previous_response_id",
  "max_output_tokens",
  "max_tool_calls",
  "top_logprobs",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "text",
  "reasoning",
  "truncation",
  "include",
  "store",
  "stream_options",
  "background",
  "metadata",
  "prompt",
  "conversation",
]);

function untranslated(request: Fields): Fields {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !TRANSLATED.has(name)));
}

interface ToolFields {
  readonly tools?: readonly Fields[] | undefined;
  readonly tool_choice?: unknown;
}

function toolsOf({ tools, tool_choice: choice }: ResponsesRequest): ToolFields {
  if (tools === undefined || tools.length === 0) return {};
  const all = tools.map((tool, index) => toolOf(tool, `tools[${index}]`));
  if (choice === undefined || typeof choice === "string") return { tools: all, tool_choice: choice };
  if (choice["type"] === "function") return { tools: all, tool_choice: { type: "function", function: { name: choice["name"] } } };
  if (choice["type"] === "allowed_tools") return allowed(choice, all);
  const message = `tool_choice: the type ${String(choice["type"])} is not supported.`;
  throw new AppError("INVALID_REQUEST", message, { param: "tool_choice" });
}

function toolOf(tool: Fields, where: string): Fields {
  const { type, name, description, parameters, strict } = tool;
  if (type !== "function") {
    const message = `${where}: tools of the type ${String(type)} are not available for this model; use functions.`;
    throw new AppError("INVALID_REQUEST", message, { param: `${where}.type` });
  }
  const known = { description: description ?? undefined, parameters: parameters ?? undefined };
  return { type, function: defined({ name, ...known, strict: typeof strict === "boolean" ? strict : undefined }) };
}

/** Only the named tools are offered, which forbids the others. */
function allowed({ mode, tools }: Fields, all: readonly Fields[]): ToolFields {
  const names = new Set(asList(tools).map((tool) => asFields(tool)["name"]));
  const offered = all.filter((tool) => names.has(asFields(tool["function"])["name"]));
  if (offered.length === 0) throw new AppError("INVALID_REQUEST", "tool_choice: none of its tools is in tools.", { param: "tool_choice" });
  return { tools: offered, tool_choice: mode === "required" ? "required" : "auto" };
}

function formatOf(format: Fields): Fields | undefined {
  const { type, name, schema, strict, description } = format;
  if (type === undefined || type === "text") return undefined;
  if (type === "json_object") return { type };
  if (type !== "json_schema") {
    throw new AppError("INVALID_REQUEST", `text.format: the type ${String(type)} is unknown.`, { param: "text.format.type" });
  }
  const rest = { strict: strict ?? undefined, description: description ?? undefined };
  return { type, json_schema: defined({ name: name ?? "response", schema, ...rest }) };
}
