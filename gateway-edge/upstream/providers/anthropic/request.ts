import { defined } from "../../../../common/defined.ts";
import { ANTHROPIC_PARAMS, ANTHROPIC_SAMPLING, anthropic } from "../../../../common/providers/anthropic.ts";
import { type ClaudeRules, claudeRules } from "../../../../common/providers/shared/claude-rules.ts";
import type { ChatBody, ChatCall, CountCall, Fields, ProviderTarget, RemoteCount, UpstreamRequest } from "../provider.ts";
import {
  type ChatTool,
  declaredByHistory,
  fieldsOfTheirs,
  JSON_TOOL,
  type JsonFormat,
  readJsonFormat,
  readStops,
  readToolChoice,
  readTools,
} from "../shared/chat-tools.ts";
import { readConversation, type Turn } from "../shared/chat-turns.ts";
import { claudeSampling, claudeThinking } from "../shared/claude-models.ts";
import { asFields, asText } from "../shared/json-fields.ts";
import { countable, readCount } from "../shared/remote-count.ts";
import { blocksOf, systemBlocks } from "./blocks.ts";
import { anthropicHeaders, type VersionRules, versionRules } from "./headers.ts";
import { messagesOf } from "./messages.ts";
import { isClosed, nativeSchema } from "./schema.ts";
import { refuseUnpriced } from "./unpriced.ts";

/** OpenAI's service tiers as Anthropic's; others are left to the account's default. */
const SERVICE_TIERS: Readonly<Record<string, string>> = { auto: "auto", default: "standard_only", standard_only: "standard_only" };

export function buildAnthropicRequest(call: ChatCall, target: ProviderTarget): UpstreamRequest {
  return {
    url: messagesUrl(target),
    headers: anthropicHeaders(target),
    body: JSON.stringify(anthropicBody(call, target)),
  };
}

export function anthropicBody(call: ChatCall, { inferenceModelId, params }: ProviderTarget): Fields {
  return messagesBody(call, inferenceModelId, versionRules(params));
}

/** The fields of a message request that count_tokens takes; it refuses others. */
const COUNTED = ["model", "system", "messages", "tools", "tool_choice", "thinking", "output_config"];

export const anthropicCount: RemoteCount = {
  tokenizer: "anthropic_api",
  takesContents: false,
  buildRequest: (call, target) => ({
    url: `${messagesUrl(target)}/count_tokens`,
    headers: anthropicHeaders(target, call.proxied?.betas),
    body: JSON.stringify(countedBody(call, target)),
  }),
  readAnswer: (body) => readCount(asFields(body)["input_tokens"]),
};

export function countedBody(call: CountCall, target: ProviderTarget): Fields {
  if (call.proxied) return { ...call.proxied.body, model: target.inferenceModelId };
  return countable(anthropicBody(call, target), COUNTED);
}

/** The Messages API, for requests that arrive in it. */
export const anthropicMessages = messagesOf({
  framing: "sse",
  isUsual: () => true,
  request: (body, { betas }, target) => ({
    url: messagesUrl(target),
    headers: anthropicHeaders(target, betas),
    body: JSON.stringify(body),
  }),
});

function messagesUrl({ baseUrl }: ProviderTarget): string {
  const base = (baseUrl ?? anthropic.baseUrl).replace(/(?<!\/)\/+$/, "");
  return /\/v1$/.test(base) ? `${base}/messages` : `${base}/v1/messages`;
}

function messagesBody(call: ChatCall, model: string, version: VersionRules): Fields {
  const { body } = call;
  refuseUnpriced(body);
  const rules = claudeRules(model);
  const format = readJsonFormat(body);
  const { system, turns } = readConversation(body.messages, { laterSystem: version.inlineSystem ? "inline" : "hoist" });
  const offer = toolFields(body, { rules, format, turns });
  const { thinking, output_config: effort } = claudeThinking(body, {
    rules,
    turns,
    forced: offer.forced,
    maxOutputTokens: call.maxOutputTokens,
  });
  const sampling = version.sampling ? claudeSampling(body, { rules, thinking }) : {};
  const outputConfig = { ...asFields(body["output_config"]), ...asFields(effort), ...outputFormat(format, rules) };
  const instruction = format && !offer.asksForJson && !hasNative(format, rules) ? [JSON_INSTRUCTION] : [];
  const systemBlocksAll = [...systemBlocks(system), ...instruction];
  return defined({
    ...fieldsOfTheirs(body, TRANSLATED),
    model,
    max_tokens: call.maxOutputTokens,
    system: systemBlocksAll.length > 0 ? systemBlocksAll : undefined,
    messages: turns.map((turn) => ({ role: turn.role, content: blocksOf(turn.parts) })),
    tools: offer.tools,
    tool_choice: offer.toolChoice,
    thinking,
    output_config: Object.keys(outputConfig).length > 0 ? outputConfig : undefined,
    ...sampling,
    stop_sequences: readStops(body["stop"]),
    metadata: metadataOf(body),
    service_tier: SERVICE_TIERS[String(body["service_tier"])],
    stream: call.stream ? true : undefined,
  });
}

const TRANSLATED = new Set([
  ...ANTHROPIC_PARAMS,
  ...ANTHROPIC_SAMPLING,
  "messages",
  "model",
  "output_config",
  "reasoning_effort",
  "thinking",
]);

interface ToolOffer {
  readonly tools: readonly Fields[] | undefined;
  readonly toolChoice: Fields | undefined;
  /** The model must call a tool. */
  readonly forced: boolean;
  /** One of the tools is the JSON answer. */
  readonly asksForJson: boolean;
}

interface OfferContext {
  readonly rules: ClaudeRules;
  readonly format: JsonFormat | undefined;
  readonly turns: readonly Turn[];
}

function toolFields(body: ChatBody, { rules, format, turns }: OfferContext): ToolOffer {
  const { tools, native } = readTools(body);
  const asksForJson = format !== undefined && !hasNative(format, rules) && rules.forcedToolChoice;
  const jsonTool = asksForJson ? [toolOf({ name: JSON_TOOL, description: JSON_TOOL_DESCRIPTION, schema: format.schema })] : [];
  const offered = [...tools.map(toolOf), ...native];
  const all = [...offered, ...jsonTool];
  if (all.length === 0) return onlyDeclared(turns);
  const choice = readToolChoice(body["tool_choice"]);
  const toolChoice = choiceOf({ choice, hasTools: offered.length > 0, asksForJson, rules });
  const forced = toolChoice?.["type"] === "any" || toolChoice?.["type"] === "tool";
  const single = body["parallel_tool_calls"] === false && toolChoice?.["type"] !== "none";
  // Where a choice cannot be forced, only the named tool is offered.
  const named = choice?.type === "named" && !rules.forcedToolChoice ? choice.name : undefined;
  return {
    tools: named === undefined ? all : all.filter((tool) => tool["name"] === named),
    toolChoice: single ? { type: "auto", ...toolChoice, disable_parallel_tool_use: true } : toolChoice,
    forced,
    asksForJson,
  };
}

function onlyDeclared(turns: readonly Turn[]): ToolOffer {
  const declared = declaredByHistory([], turns);
  const fields =
    declared.length > 0 ? { tools: declared.map(toolOf), toolChoice: { type: "none" } } : { tools: undefined, toolChoice: undefined };
  return { ...fields, forced: false, asksForJson: false };
}

const JSON_TOOL_DESCRIPTION = "Gives the answer to the user. Call it once, with the whole answer.";
const JSON_INSTRUCTION = { type: "text", text: "Answer with one JSON object and nothing else: no explanation, no code fence." };

interface ChoiceInput {
  readonly choice: ReturnType<typeof readToolChoice>;
  readonly hasTools: boolean;
  readonly asksForJson: boolean;
  readonly rules: ClaudeRules;
}

function choiceOf({ choice, hasTools, asksForJson, rules }: ChoiceInput): Fields | undefined {
  const jsonOnly = asksForJson && (!hasTools || choice?.type === "none");
  if (jsonOnly) return { type: "tool", name: JSON_TOOL };
  if (choice?.type === "none") return { type: "none" };
  if (!rules.forcedToolChoice) return choice ? { type: "auto" } : undefined;
  if (choice?.type === "named") return { type: "tool", name: choice.name };
  if (choice?.type === "required" || asksForJson) return { type: "any" };
  return choice ? { type: "auto" } : undefined;
}

function toolOf({ name, description, schema, cacheControl }: ChatTool): Fields {
  return defined({ name, description, input_schema: schema, cache_control: cacheControl });
}

function hasNative(format: JsonFormat, rules: ClaudeRules): boolean {
  // The native format requires closed objects, so it cannot express a map with free names; a tool can.
  return format.hasSchema && rules.nativeSchema && (isClosed(format.schema) || !rules.forcedToolChoice);
}

function outputFormat(format: JsonFormat | undefined, rules: ClaudeRules): Fields {
  return format && hasNative(format, rules) ? { format: { type: "json_schema", schema: nativeSchema(format.schema) } } : {};
}

/** Anthropic takes one field, an opaque id; an email address does not belong there. */
function metadataOf(body: ChatBody): Fields | undefined {
  const userId = asText(asFields(body["metadata"])["user_id"]) ?? asText(body["user"]) ?? asText(body["safety_identifier"]);
  return userId === undefined || userId.includes("@") ? undefined : { user_id: userId };
}
