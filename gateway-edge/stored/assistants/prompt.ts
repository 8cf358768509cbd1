import type { ContentBlock, MessageObject, RunObject } from "../../schemas/stored/assistant-answers.ts";
import type { ChatMessage, Fields } from "../../upstream/providers/provider.ts";
import type { RunBody } from "./bodies.ts";
import type { FileSearch } from "./file-search.ts";

/** An image of the team's files as a data URL; undefined if there is no such image. */
export type ReadImage = (fileId: string) => Promise<string | undefined>;

/** `tool_choice` is forced only in the first call: a model that must call a tool each time would never answer. */
const isFirst = ({ modelCalls }: RunBody): boolean => modelCalls === 0;

/** The fields of a chat request but its messages. */
export function chatFields(body: RunBody, fileSearch: FileSearch | undefined): Fields {
  const { run, used } = body;
  const tools = [...run.tools.filter((tool) => tool.type === "function").map(chatTool), ...(fileSearch ? [fileSearch.tool] : [])];
  const maxCompletionTokens = run.max_completion_tokens === null ? undefined : Math.max(1, run.max_completion_tokens - used.completion);
  return {
    model: run.model,
    stream: true,
    ...(tools.length > 0 ? { tools, ...toolFields(body, fileSearch) } : {}),
    ...(run.temperature === null ? {} : { temperature: run.temperature }),
    ...(run.top_p === null ? {} : { top_p: run.top_p }),
    ...(maxCompletionTokens === undefined ? {} : { max_completion_tokens: maxCompletionTokens }),
    ...(run.response_format === "auto" || run.response_format.type === "text" ? {} : { response_format: run.response_format }),
    ...(run.reasoning_effort === null ? {} : { reasoning_effort: run.reasoning_effort }),
  };
}

function toolFields(body: RunBody, fileSearch: FileSearch | undefined): Fields {
  const { tool_choice: choice, parallel_tool_calls: parallel } = body.run;
  const chosen = typeof choice === "string" ? choice : choice.type === "file_search" ? functionChoice(fileSearch?.toolName) : choice;
  const isSent = chosen !== undefined && chosen !== "auto" && (chosen === "none" || isFirst(body));
  return { ...(isSent ? { tool_choice: chosen } : {}), ...(parallel ? {} : { parallel_tool_calls: false }) };
}

function functionChoice(name: string | undefined): Fields | undefined {
  return name === undefined ? undefined : { type: "function", function: { name } };
}

function chatTool(tool: RunObject["tools"][number]): Fields {
  if (tool.type !== "function") return tool;
  const given = Object.entries(tool.function).filter(([, value]) => value !== null && value !== undefined);
  return { type: "function", function: Object.fromEntries(given) };
}

/** The messages before and after the thread's messages; always sent. */
export function frameOf({ run, turns }: RunBody): { before: ChatMessage[]; after: readonly ChatMessage[] } {
  return { before: run.instructions === "" ? [] : [{ role: "system", content: run.instructions }], after: turns };
}

export async function chatMessage(message: MessageObject, readImage: ReadImage): Promise<ChatMessage> {
  const isText = message.content.every(({ type }) => type === "text" || type === "refusal");
  if (isText || message.role === "assistant") return { role: message.role, content: message.content.map(textOf).join("\n") };
  return { role: message.role, content: await Promise.all(message.content.map((block) => chatPart(block, readImage))) };
}

function textOf(block: ContentBlock): string {
  if (block.type === "text") return block.text.value;
  return block.type === "refusal" ? block.refusal : "";
}

async function chatPart(block: ContentBlock, readImage: ReadImage): Promise<Fields> {
  if (block.type === "image_url") return { type: "image_url", image_url: block.image_url };
  if (block.type !== "image_file") return { type: "text", text: textOf(block) };
  const url = await readImage(block.image_file.file_id);
  if (url === undefined) return { type: "text", text: `(The image ${block.image_file.file_id} cannot be shown.)` };
  return { type: "image_url", image_url: { url, detail: block.image_file.detail } };
}
