import { AppError } from "../../../../common/errors.ts";
import type { ChatBody, Fields } from "../provider.ts";
import type { Turn } from "./chat-turns.ts";
import { asFields, asList, asText } from "./json-fields.ts";

/** A tool that the caller offers. */
export interface ChatTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly schema: Fields;
  readonly cacheControl?: Fields | undefined;
}

export type ToolChoice = { readonly type: "auto" | "none" | "required" } | { readonly type: "named"; readonly name: string };

/**
 * Where an upstream has no output format of its own, the answer is requested as the arguments of this tool. Callers never see the tool: its
 * arguments are the content of the answer.
 */
export const JSON_TOOL = "json_tool_call";

const OPEN_OBJECT: Fields = { type: "object", properties: {} };

/** Functions as tools, and the upstream's own tools (any other type) unchanged. */
export function readTools(body: ChatBody): { readonly tools: readonly ChatTool[]; readonly native: readonly Fields[] } {
  const tools: ChatTool[] = [];
  const native: Fields[] = [];
  for (const [index, tool] of asList(body["tools"]).map(asFields).entries()) {
    if (tool["type"] === "function") tools.push(readTool(tool));
    else if (tool["type"] === "custom")
      throw new AppError("INVALID_REQUEST", "This model takes only function tools.", { param: `tools[${index}]` });
    else native.push(tool);
  }
  return { tools, native };
}

function readTool(tool: Fields): ChatTool {
  const { name, description, parameters, cache_control } = asFields(tool["function"]);
  const mark = tool["cache_control"] ?? cache_control;
  const schema = asFields(parameters);
  return {
    name: asText(name) ?? "",
    // Some upstreams refuse an empty description.
    description: asText(description),
    schema: Object.keys(schema).length === 0 ? OPEN_OBJECT : { type: "object", ...schema },
    cacheControl: mark === undefined ? undefined : asFields(mark),
  };
}

export function readToolChoice(value: unknown): ToolChoice | undefined {
  if (value === undefined) return undefined;
  if (value === "auto" || value === "none" || value === "required") return { type: value };
  const { type, function: named } = asFields(value);
  const name = asText(asFields(named)["name"]);
  if (type === "function" && name !== undefined) return { type: "named", name };
  throw new AppError("INVALID_REQUEST", "tool_choice must be auto, none, required or the name of a function.", { param: "tool_choice" });
}

/** Nothing is offered, but tool calls in the history are refused without a declaration: the caller's own, otherwise one with only the name. */
export function declaredByHistory(tools: readonly ChatTool[], turns: readonly Turn[]): readonly ChatTool[] {
  const parts = turns.flatMap((turn) => turn.parts);
  const names = new Set(parts.flatMap((part) => (part.type === "tool-call" ? [part.name] : [])));
  if (names.size === 0) return [];
  return tools.length > 0 ? tools : [...names].map((name) => ({ name, schema: OPEN_OBJECT }));
}

export interface JsonFormat {
  readonly schema: Fields;
  /** False for json_object: any object is valid. */
  readonly hasSchema: boolean;
}

/** The JSON format that the caller requests, if any. */
export function readJsonFormat(body: ChatBody): JsonFormat | undefined {
  const format = asFields(body["response_format"]);
  if (format["type"] === "json_object") return { schema: { type: "object", additionalProperties: true }, hasSchema: false };
  if (format["type"] !== "json_schema") return undefined;
  const { schema } = asFields(format["json_schema"]);
  if (typeof schema !== "object" || schema === null) {
    throw new AppError("INVALID_REQUEST", "response_format needs a schema.", { param: "response_format.json_schema.schema" });
  }
  return { schema: schema as Fields, hasSchema: true };
}

/** Whether a call of this tool in an answer is the answer itself. */
export function isJsonAnswer(name: unknown, body: ChatBody): boolean {
  return name === JSON_TOOL && readJsonFormat(body) !== undefined;
}

/** `stop` as a list, without white-space texts, which are refused. */
export function readStops(stop: unknown): readonly string[] | undefined {
  const list = (Array.isArray(stop) ? stop : [stop]).filter((text): text is string => typeof text === "string" && text.trim() !== "");
  return list.length > 0 ? list : undefined;
}

/** Fields that only OpenAI's own service uses; they do not change the answer. */
const BOOKKEEPING = ["metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "store", "stream_options", "user"];

/** Fields that the adapter does not translate: sent to the upstream unchanged, which may refuse them. */
export function fieldsOfTheirs(body: ChatBody, translated: ReadonlySet<string>): Fields {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !translated.has(name) && !BOOKKEEPING.includes(name)));
}
