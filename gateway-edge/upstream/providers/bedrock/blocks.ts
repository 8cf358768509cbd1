import { AppError } from "../../../../common/errors.ts";
import type { Fields } from "../provider.ts";
import type { TextPart, Turn, TurnPart } from "../shared/chat-turns.ts";
import type { MediaPart } from "../shared/media-parts.ts";

export function systemOf(system: readonly TextPart[]): readonly Fields[] {
  return system.flatMap((part) => [{ text: part.text }, ...cachePoint(part.cacheControl)]);
}

export function messagesOf(turns: readonly Turn[]): readonly Fields[] {
  const names = new DocumentNames();
  return turns.map(({ role, parts }) => {
    const blocks = parts.flatMap((part) => [blockOf(part, names), ...cachePoint(part.cacheControl)]);
    // Converse refuses a document without a text beside it.
    const needsText = parts.some(({ type }) => type === "document") && !parts.some(({ type }) => type === "text");
    return { role, content: needsText ? [...blocks, { text: "." }] : blocks };
  });
}

function blockOf(part: TurnPart, names: DocumentNames): Fields {
  switch (part.type) {
    case "text":
      return { text: part.text };
    case "image":
      return { image: mediaOf(part, IMAGE_FORMATS) };
    case "document":
      return { document: { name: names.nameFor(part.name), ...mediaOf(part, DOCUMENT_FORMATS) } };
    case "thinking":
      return { reasoningContent: { reasoningText: { text: part.text, signature: part.signature } } };
    case "redacted-thinking":
      return { reasoningContent: { redactedContent: part.data } };
    case "tool-call":
      return { toolUse: { toolUseId: part.id, name: part.name, input: part.input } };
    case "tool-result": {
      const content = part.content.map((inner) => blockOf(inner, names));
      return { toolResult: { toolUseId: part.id, content, ...(part.isError ? { status: "error" } : {}) } };
    }
  }
}

function cachePoint(cacheControl: Fields | undefined): Fields[] {
  if (!cacheControl) return [];
  const { ttl } = cacheControl;
  return [{ cachePoint: { type: "default", ...(typeof ttl === "string" ? { ttl } : {}) } }];
}

const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "text/csv": "csv",
  "text/html": "html",
  "text/plain": "txt",
  "text/markdown": "md",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
};

/** Converse fetches only from S3, with the operator's identity; other URLs would have to be fetched here, which an adapter does not do. */
function mediaOf({ type, source }: MediaPart, formats: Readonly<Record<string, string>>): { format: string; source: Fields } {
  if (source.type === "url") throw refused(`This model takes ${type}s as data URLs, not as links.`);
  const format = formats[source.mediaType];
  if (format === undefined) throw refused(`This model does not support this format of ${type}.`);
  return { format, source: { bytes: source.data } };
}

function refused(message: string): AppError {
  return new AppError("INVALID_REQUEST", message, { param: "messages" });
}

/** Names in the characters that Converse takes, each unique in a request. */
class DocumentNames {
  readonly #given = new Set<string>();

  nameFor(name: string | undefined): string {
    const cleaned = (name ?? "")
      .replace(/[^A-Za-z0-9 \-()[\]]/g, " ")
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, 180);
    const base = cleaned === "" ? "document" : cleaned;
    const unique = this.#given.has(base) ? `${base} ${this.#given.size + 1}` : base;
    this.#given.add(unique);
    return unique;
  }
}
