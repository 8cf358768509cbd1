import { defined } from "../../../../common/defined.ts";
import type { BedrockRules } from "../../../../common/providers/bedrock.ts";
import type { ChatBody, Fields } from "../provider.ts";
import {
  type ChatTool,
  declaredByHistory,
  JSON_TOOL,
  type JsonFormat,
  readToolChoice,
  readTools,
  type ToolChoice,
} from "../shared/chat-tools.ts";
import type { Turn } from "../shared/chat-turns.ts";
import { asFields, asText } from "../shared/json-fields.ts";

export interface ToolOffer {
  readonly toolConfig: Fields | undefined;
  /** For additionalModelRequestFields. */
  readonly additional: Fields;
  /** The model must call a tool. */
  readonly forced: boolean;
  /** One of the tools is the JSON answer. */
  readonly asksForJson: boolean;
}

interface OfferContext {
  readonly rules: BedrockRules;
  readonly format: JsonFormat | undefined;
  readonly turns: readonly Turn[];
}

/** Tools and tool choice. Converse has no `none`, and requires declared tools as soon as the history has tool calls. */
export function toolOffer(body: ChatBody, { rules, format, turns }: OfferContext): ToolOffer {
  const { tools } = readTools(body);
  const choice = readToolChoice(body["tool_choice"]);
  const offered = choice?.type === "none" ? [] : tools;
  const asksForJson = format !== undefined && rules.toolChoice !== "auto";
  const wanted = [...narrowed(offered, { choice, rules }), ...(asksForJson ? [jsonTool(format)] : [])];
  const toolChoice = choiceOf({ choice, hasTools: offered.length > 0, asksForJson, rules });
  const declared = wanted.length > 0 ? wanted : declaredByHistory(tools, turns);
  return {
    additional: wanted.length > 0 ? singleCall(body, { toolChoice, rules }) : {},
    toolConfig: declared.length > 0 ? defined({ tools: declared.flatMap(toolSpec), toolChoice }) : undefined,
    forced: toolChoice !== undefined && !("auto" in toolChoice),
    asksForJson,
  };
}

/** Where a tool cannot be chosen by name, only that tool is offered. */
function narrowed(
  tools: readonly ChatTool[],
  { choice, rules }: { choice: ToolChoice | undefined; rules: BedrockRules },
): readonly ChatTool[] {
  if (choice?.type !== "named" || rules.toolChoice === "named") return tools;
  return tools.filter(({ name }) => name === choice.name);
}

function jsonTool({ schema }: JsonFormat): ChatTool {
  return { name: JSON_TOOL, description: "Gives the answer to the user. Call it once, with the whole answer.", schema };
}

interface ChoiceInput {
  readonly choice: ToolChoice | undefined;
  readonly hasTools: boolean;
  readonly asksForJson: boolean;
  readonly rules: BedrockRules;
}

function choiceOf({ choice, hasTools, asksForJson, rules }: ChoiceInput): Fields | undefined {
  if (asksForJson && !hasTools) return rules.toolChoice === "named" ? { tool: { name: JSON_TOOL } } : { any: {} };
  if (!hasTools) return undefined;
  if (rules.toolChoice === "auto") return choice ? { auto: {} } : undefined;
  if (choice?.type === "named") return rules.toolChoice === "named" ? { tool: { name: choice.name } } : { any: {} };
  if (choice?.type === "required" || asksForJson) return { any: {} };
  return choice ? { auto: {} } : undefined;
}

/** Converse has no field for one tool call at a time; Claude has one, beside a choice that repeats Converse's. */
function singleCall(body: ChatBody, { toolChoice, rules }: { toolChoice: Fields | undefined; rules: BedrockRules }): Fields {
  if (body["parallel_tool_calls"] !== false || !rules.singleCalls) return {};
  const name = asText(asFields(toolChoice?.["tool"])["name"]);
  const type = name !== undefined ? "tool" : toolChoice?.["any"] ? "any" : "auto";
  return { tool_choice: defined({ type, name, disable_parallel_tool_use: true as const }) };
}

function toolSpec({ name, description, schema, cacheControl }: ChatTool): Fields[] {
  const spec = { toolSpec: defined({ name, description, inputSchema: { json: schema } }) };
  return cacheControl ? [spec, { cachePoint: { type: "default" } }] : [spec];
}
