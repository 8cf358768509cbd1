import { defined } from "../../../../common/defined.ts";
import { AppError } from "../../../../common/errors.ts";
import type { ChatRequest } from "../../../schemas/calls/chat.ts";
import { type CountMessagesRequest, type MessagesRequest, messagesRequest } from "../../../schemas/calls/messages.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asText } from "../../../upstream/providers/shared/json-fields.ts";
import { refuseChatOnlyFields } from "../chat-only-fields.ts";
import { chatMessages } from "./turns.ts";

/** A Messages request as a chat request, including what Chat Completions does not have. */
export function toChatRequest(request: MessagesRequest): ChatRequest {
  refuseChatOnlyFields(request, messagesRequest.shape);
  const { model, max_tokens, stream, temperature, top_p, top_k, stop_sequences, metadata, service_tier } = request;
  return defined({
    ...untranslated(request),
    ...toCountedChat(request),
    model,
    max_tokens,
    stream,
    temperature,
    top_p,
    top_k,
    stop: stop_sequences && stop_sequences.length > 0 ? stop_sequences : undefined,
    user: asText(asFields(metadata)["user_id"]),
    service_tier: service_tier === "standard_only" ? "default" : service_tier,
  }) as ChatRequest;
}

/** The part of a request that counts as input tokens. */
export function toCountedChat(request: CountMessagesRequest): Fields & Pick<ChatRequest, "messages"> {
  const { tools, tool_choice: choice, thinking, output_config: config } = request;
  const isOffered = tools !== undefined && tools.length > 0;
  const { format: _format, ...ownConfig } = asFields(config);
  return {
    ...defined({
      tools: isOffered ? tools.map(toolOf) : undefined,
      tool_choice: isOffered && choice ? choiceOf(choice) : undefined,
      parallel_tool_calls: isOffered && asFields(choice)["disable_parallel_tool_use"] === true ? false : undefined,
      response_format: formatOf(request),
      thinking,
      output_config: Object.keys(ownConfig).length > 0 ? ownConfig : undefined,
    }),
    // Safe: the messages are built here, in the form of the chat schema.
    messages: chatMessages(request) as ChatRequest["messages"],
  };
}

const TRANSLATED = new Set([
  "model",
  "messages",
  "system",
  "max_tokens",
  "metadata",
  "stop_sequences",
  "stream",
  "temperature",
  "top_p",
  "top_k",
  "thinking",
  "output_config",
  "output_format",
  "tools",
  "tool_choice",
  "service_tier",
]);

function untranslated(request: Fields): Fields {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !TRANSLATED.has(name)));
}

function toolOf(tool: Fields): Fields {
  const { type = "custom", name, description, input_schema: parameters, strict, cache_control: mark } = tool;
  if (type !== "custom") return tool;
  const described = defined({ name, description, parameters, strict: typeof strict === "boolean" ? strict : undefined });
  return { type: "function", function: described, ...(mark ? { cache_control: mark } : {}) };
}

function choiceOf(choice: Fields): unknown {
  const { type, name } = choice;
  if (type === "any") return "required";
  if (type === "tool") return { type: "function", function: { name } };
  if (type === "auto" || type === "none") return type;
  throw new AppError("INVALID_REQUEST", "tool_choice.type must be auto, any, tool or none.", { param: "tool_choice.type" });
}

function formatOf(request: CountMessagesRequest): Fields | undefined {
  const format = asFields(asFields(request.output_config)["format"] ?? request["output_format"]);
  if (format["type"] !== "json_schema") return undefined;
  return { type: "json_schema", json_schema: { name: "output", schema: format["schema"], strict: true } };
}

/** Whether the caller wants to see thinking. */
export function asksForThinking({ thinking }: MessagesRequest): boolean {
  const { type, display } = asFields(thinking);
  return (type === "enabled" || type === "adaptive") && display !== "omitted";
}

/** Betas that a caller may enable where the request is translated: they change how a request is read, not what it costs. */
const BETAS = [
  "context-management-",
  "effort-",
  "fine-grained-tool-streaming-",
  "interleaved-thinking-",
  "mid-conversation-system-",
  "output-128k-",
  "pdfs-",
  "prompt-caching-",
  "structured-outputs-",
  "token-efficient-tools-",
];

/** The betas of a caller's anthropic-beta header. */
export function callerBetas(header: string | undefined): readonly string[] {
  const names = (header ?? "").split(",").map((name) => name.trim());
  return names.filter((name) => /^[a-z0-9-]{1,64}$/.test(name));
}

/** Those of them that a translated request can have. */
export function translatedBetas(betas: readonly string[]): readonly string[] {
  return betas.filter((name) => BETAS.some((beta) => name.startsWith(beta)));
}
