import { defined } from "../../../../common/defined.ts";
import { AppError } from "../../../../common/errors.ts";
import type { ChatMessage, Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList, asText } from "../../../upstream/providers/shared/json-fields.ts";
import { thinkingOf } from "./seal.ts";

/** Items of a conversation as chat messages. */
export function chatMessages(items: readonly Fields[]): readonly ChatMessage[] {
  const reader = new ItemReader();
  items.forEach((item, index) => void reader.read(item, `input[${index}]`));
  return reader.end();
}

const TOOL_ITEMS: readonly unknown[] = ["file_search_call", "mcp_list_tools", "mcp_call"];

interface AssistantTurn {
  readonly parts: Fields[];
  readonly calls: Fields[];
  readonly thinking: Fields[];
}

/** An assistant's items between two turns of others become one message: tool calls must be directly followed by their results. */
class ItemReader {
  readonly #messages: ChatMessage[] = [];
  #turn: AssistantTurn | undefined;

  read(item: Fields, where: string): void {
    const type = item["type"] ?? (item["role"] === undefined ? undefined : "message");
    // What the gateway's tools did in earlier turns is in the text of the answers to them.
    if (TOOL_ITEMS.includes(type)) return;
    if (type === "function_call_output") this.#result(item, where);
    else if (type === "function_call") this.#assistant().calls.push(callOf(item, where));
    else if (type === "reasoning") this.#assistant().thinking.push(...thinkingOf(item));
    else if (type === "message" && item["role"] === "assistant") this.#assistant().parts.push(...assistantParts(item["content"], where));
    else if (type === "message") this.#said(item, where);
    else throw invalid(`${where}.type`, `Items of the type ${String(type)} are not supported.`);
  }

  end(): readonly ChatMessage[] {
    this.#flushTurn();
    return this.#messages;
  }

  #said({ role, content }: Fields, where: string): void {
    if (role !== "user" && role !== "system" && role !== "developer") {
      throw invalid(`${where}.role`, "role must be user, assistant, system or developer.");
    }
    this.#flushTurn();
    const parts = contentParts(content, `${where}.content`);
    if (parts.length > 0) this.#messages.push({ role, content: plainContent(parts) });
  }

  #result({ call_id: id, output }: Fields, where: string): void {
    if (typeof id !== "string") throw invalid(`${where}.call_id`, "A call_id is required.");
    this.#flushTurn();
    const parts = contentParts(output, `${where}.output`);
    this.#messages.push({ role: "tool", tool_call_id: id, content: parts.length === 0 ? "" : plainContent(parts) });
  }

  #assistant(): AssistantTurn {
    this.#turn ??= { parts: [], calls: [], thinking: [] };
    return this.#turn;
  }

  #flushTurn(): void {
    const { parts = [], calls = [], thinking = [] } = this.#turn ?? {};
    this.#turn = undefined;
    if (parts.length === 0 && calls.length === 0) return;
    const fields = {
      content: parts.length === 0 ? null : plainContent(parts),
      tool_calls: calls.length > 0 ? calls : undefined,
      thinking_blocks: thinking.length > 0 ? thinking : undefined,
    };
    this.#messages.push({ role: "assistant", ...defined(fields) });
  }
}

function callOf({ call_id: id, name, arguments: text }: Fields, where: string): Fields {
  if (typeof id !== "string" || typeof name !== "string") throw invalid(where, "A function_call needs call_id and name.");
  return { id, type: "function", function: { name, arguments: asText(text) ?? "{}" } };
}

function assistantParts(content: unknown, where: string): readonly Fields[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return asList(content)
    .map(asFields)
    .flatMap((part, index): Fields[] => {
      if (part["type"] === "refusal") return [{ type: "refusal", refusal: String(part["refusal"] ?? "") }];
      if (typeof part["text"] === "string") return part["text"] === "" ? [] : [{ type: "text", text: part["text"] }];
      throw invalid(`${where}.content[${index}]`, `Parts of the type ${String(part["type"])} are not supported.`);
    });
}

function contentParts(content: unknown, where: string): readonly Fields[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw invalid(where, "must be a string or an array of content parts.");
  return content.map((part, index) => contentPart(asFields(part), `${where}[${index}]`));
}

function contentPart(part: Fields, where: string): Fields {
  const { type, image_url: imageUrl, detail, file_data: data, file_url: url, file_id: id, filename } = part;
  if (type === "input_text" || type === "output_text" || type === "text") return { type: "text", text: String(part["text"] ?? "") };
  if (type === "input_image") {
    if (typeof id === "string" && typeof imageUrl !== "string") {
      throw invalid(`${where}.file_id`, "There is no file with this id. Upload the image to /v1/files, or send image_url.");
    }
    if (typeof imageUrl !== "string") throw invalid(`${where}.image_url`, "An image must be a URL or a data URL.");
    return { type: "image_url", image_url: defined({ url: imageUrl, detail: asText(detail) }) };
  }
  if (type === "input_file") {
    // A URL takes the place of the id: adapters recognize it by its scheme.
    return { type: "file", file: defined({ file_data: asText(data), file_id: asText(url) ?? asText(id), filename: asText(filename) }) };
  }
  if (type === "input_audio") return { type, input_audio: part["input_audio"] };
  throw invalid(`${where}.type`, `Parts of the type ${String(type)} are not supported.`);
}

/** A single text where the parts are only text: every server accepts that. */
function plainContent(parts: readonly Fields[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only?.["type"] === "text" ? only["text"] : parts;
}

function invalid(param: string, message: string): AppError {
  return new AppError("INVALID_REQUEST", `${param}: ${message}`, { param });
}
