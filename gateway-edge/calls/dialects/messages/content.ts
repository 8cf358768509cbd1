import { defined } from "../../../../common/defined.ts";
import { AppError } from "../../../../common/errors.ts";
import type { ChatMessage, Fields } from "../../../upstream/providers/provider.ts";
import { asFields, asList, asText } from "../../../upstream/providers/shared/json-fields.ts";

/** A block and its position, for error messages. */
export interface PlacedBlock {
  readonly block: Fields;
  readonly where: string;
}

/** Blocks as a list; a text counts as one block. */
export function blocksOf(content: unknown, where: string): readonly PlacedBlock[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : asList(content).map(asFields);
  return blocks.map((block, index) => ({ block, where: `${where}[${index}]` }));
}

/** Text, images and documents as parts of a chat message, with the cache marks of their blocks. */
export function partsOf(content: unknown, where: string): readonly Fields[] {
  return blocksOf(content, where).flatMap(partsOfBlock);
}

export function partsOfBlock({ block, where }: PlacedBlock): readonly Fields[] {
  const parts = unmarkedParts(block, where);
  const mark = block["cache_control"];
  const last = parts.at(-1);
  return mark && last ? [...parts.slice(0, -1), { ...last, cache_control: mark }] : parts;
}

/** A single text where the parts are only text: every server accepts that. */
export function contentOf(parts: readonly Fields[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only?.["type"] === "text" && Object.keys(only).length === 2 ? only["text"] : parts;
}

/** A tool result as a tool message. */
export function toolResultOf({ block, where }: PlacedBlock): ChatMessage {
  const id = asText(block["tool_use_id"]);
  if (id === undefined) throw invalid(`${where}.tool_use_id`, "Field required");
  const parts = partsOf(block["content"], `${where}.content`);
  const more = { is_error: block["is_error"] === true ? true : undefined, cache_control: block["cache_control"] ?? undefined };
  return { role: "tool", tool_call_id: id, content: parts.length === 0 ? "" : contentOf(parts), ...defined(more) };
}

function invalid(param: string, message: string): AppError {
  return new AppError("INVALID_REQUEST", `${param}: ${message}`, { param });
}

function unmarkedParts(block: Fields, where: string): readonly Fields[] {
  switch (block["type"]) {
    case "text":
      return [{ type: "text", text: typeof block["text"] === "string" ? block["text"] : "" }];
    case "image":
      return [{ type: "image_url", image_url: { url: imageUrl(asFields(block["source"]), where) } }];
    case "document":
      return documentParts(block, where);
    case "search_result": {
      const title = `${asText(block["title"]) ?? ""}\n${asText(block["source"]) ?? ""}\n`;
      return [{ type: "text", text: title }, ...partsOf(block["content"], `${where}.content`)];
    }
    default:
      throw invalid(`${where}.type`, `content blocks of the type ${String(block["type"])} are not supported`);
  }
}

function imageUrl(source: Fields, where: string): string {
  refuseUnknownFile(source, where);
  const url = source["type"] === "base64" ? dataUrl(source) : asText(source["url"]);
  if (url === undefined) throw invalid(`${where}.source`, "an image must be base64 or a URL");
  return url;
}

/** Files of the team are data already; ids of a provider's files mean nothing to other providers. */
function refuseUnknownFile({ type, file_id: id }: Fields, where: string): void {
  if (type !== "file") return;
  throw invalid(
    `${where}.source.file_id`,
    `there is no file with the id ${String(id).slice(0, 64)}; upload it to /v1/files, or send its data`,
  );
}

function dataUrl({ media_type: mediaType, data }: Fields): string | undefined {
  return typeof mediaType === "string" && typeof data === "string" ? `data:${mediaType};base64,${data}` : undefined;
}

function documentParts(block: Fields, where: string): readonly Fields[] {
  const source = asFields(block["source"]);
  const filename = asText(block["title"]);
  const data = asText(source["data"]);
  refuseUnknownFile(source, where);
  if (source["type"] === "content") return partsOf(source["content"], `${where}.source.content`);
  if (source["type"] === "url" && asText(source["url"])) return [{ type: "file", file: defined({ file_id: source["url"], filename }) }];
  if (data === undefined || !(source["type"] === "text" || source["type"] === "base64")) {
    throw invalid(`${where}.source`, "a document must be text, base64, content or a URL");
  }
  // Few servers accept a text as a file, all accept it as text; and guardrails read only texts.
  if (source["type"] === "text") return [{ type: "text", text: filename === undefined ? data : `${filename}\n\n${data}` }];
  return [{ type: "file", file: { filename: filename ?? "document", file_data: dataUrl(source) } }];
}
