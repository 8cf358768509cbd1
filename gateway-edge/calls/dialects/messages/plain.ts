import { defined } from "../../../../common/defined.ts";
import { AppError } from "../../../../common/errors.ts";
import { type ChatRequest, chatRequest } from "../../../schemas/calls/chat.ts";
import type { ChatMessage, Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asText } from "../../../upstream/providers/shared/json-fields.ts";
import { plainMessages } from "../plain-messages.ts";

/** Without these the answer would differ; other Anthropic-only fields have no effect on its content. */
const REFUSED = ["mcp_servers", "container"];

/** A translated request with fields of Chat Completions alone; throws for what it cannot express. */
export function toPlainChat(request: ChatRequest): ChatRequest {
  const refused = REFUSED.find((name) => request[name] !== undefined);
  if (refused) throw new AppError("UNSUPPORTED_PARAMETER", `The model does not support ${refused}.`, { param: refused });
  const known = Object.entries(request).filter(([name]) => name in chatRequest.shape || name === "top_k");
  return defined({
    ...Object.fromEntries(known),
    messages: plainMessages(request.messages as readonly ChatMessage[]),
    tools: request.tools?.map(plainTool),
    reasoning_effort: effortOf(request),
  }) as unknown as ChatRequest;
}

/** Whether a translated request has what Chat Completions alone cannot express. */
export function needsBlocks(request: ChatRequest): boolean {
  return REFUSED.some((name) => request[name] !== undefined) || (request.tools ?? []).some(({ type }) => type !== "function");
}

function plainTool({ cache_control: _mark, ...tool }: Fields, index: number): Fields {
  if (tool["type"] === "function") return tool;
  const message = `tools[${index}]: the model does not support tools of the type ${String(tool["type"])}.`;
  throw new AppError("INVALID_REQUEST", message, { param: `tools[${index}].type` });
}

/** The reasoning effort, for models that take only effort levels. */
function effortOf({ thinking, output_config: config }: Fields): string | undefined {
  const { type, budget_tokens: budget } = asFields(thinking);
  const effort = asText(asFields(config)["effort"]);
  if (type === "disabled") return undefined;
  if (effort !== undefined || type !== "enabled" || typeof budget !== "number") return effort;
  if (budget <= 1024) return "low";
  return budget <= 4096 ? "medium" : "high";
}
