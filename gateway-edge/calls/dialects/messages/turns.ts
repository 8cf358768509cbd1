import { defined } from "../../../../common/defined.ts";
import type { CountMessagesRequest } from "../../../schemas/calls/messages.ts";
import type { ChatMessage, Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asText } from "../../../upstream/providers/shared/json-fields.ts";
import { blocksOf, contentOf, type PlacedBlock, partsOf, partsOfBlock, toolResultOf } from "./content.ts";

/** The turns of a request as chat messages, its system text first. */
export function chatMessages({ system, messages }: CountMessagesRequest): readonly ChatMessage[] {
  const before = system === undefined ? [] : systemMessages(system, "system");
  return [...before, ...messages.flatMap(({ role, content }, index) => turn(role, content, `messages[${index}].content`))];
}

function turn(role: string, content: unknown, where: string): readonly ChatMessage[] {
  if (role === "assistant") return assistantMessages(content, where);
  return role === "system" ? systemMessages(content, where) : userMessages(content, where);
}

function systemMessages(content: unknown, where: string): readonly ChatMessage[] {
  const parts = partsOf(content, where);
  return parts.length === 0 ? [] : [{ role: "system", content: contentOf(parts) }];
}

/** Tool results come first, each as its own message: they must directly follow the tool calls. */
function userMessages(content: unknown, where: string): readonly ChatMessage[] {
  const blocks = blocksOf(content, where);
  const isResult = ({ block }: PlacedBlock) => block["type"] === "tool_result";
  const parts = blocks.filter((each) => !isResult(each)).flatMap(partsOfBlock);
  return [...blocks.filter(isResult).map(toolResultOf), ...(parts.length === 0 ? [] : [{ role: "user", content: contentOf(parts) }])];
}

const THINKING = new Set(["thinking", "redacted_thinking"]);

function assistantMessages(content: unknown, where: string): readonly ChatMessage[] {
  const blocks = blocksOf(content, where);
  const isThinking = ({ block }: PlacedBlock) => THINKING.has(String(block["type"]));
  const isUse = ({ block }: PlacedBlock) => block["type"] === "tool_use";
  const thinking = blocks.filter(isThinking).map(({ block }) => block);
  const uses = blocks.filter(isUse).map(({ block }) => block);
  const parts = blocks.filter((each) => !isUse(each) && !isThinking(each)).flatMap(partsOfBlock);
  if (blocks.length === 0) return [];
  const fields = {
    content: parts.length === 0 ? null : contentOf(parts),
    tool_calls: uses.length > 0 ? uses.map(callOf) : undefined,
    thinking_blocks: thinking.length > 0 ? thinking : undefined,
    cache_control: uses.at(-1)?.["cache_control"] ?? undefined,
  };
  return [{ role: "assistant", ...defined(fields) }];
}

function callOf({ id, name, input }: Fields): Fields {
  return { id: asText(id) ?? "", type: "function", function: { name, arguments: JSON.stringify(asFields(input)) } };
}
