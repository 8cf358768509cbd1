import { defined } from "../../../../common/defined.ts";
import type { Fields } from "../provider.ts";
import type { TextPart, TurnPart } from "../shared/chat-turns.ts";
import type { MediaPart } from "../shared/media-parts.ts";

export function systemBlocks(system: readonly TextPart[]): readonly Fields[] {
  return blocksOf(system);
}

/** Parts of a turn as content blocks. */
export function blocksOf(parts: readonly TurnPart[]): readonly Fields[] {
  return parts.map((part) => defined({ ...blockOf(part), cache_control: part.cacheControl }));
}

function blockOf(part: TurnPart): Fields {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
    case "document":
      return mediaBlock(part);
    case "thinking":
      return { type: "thinking", thinking: part.text, signature: part.signature };
    case "redacted-thinking":
      return { type: "redacted_thinking", data: part.data };
    case "tool-call":
      return { type: "tool_use", id: part.id, name: part.name, input: part.input };
    case "tool-result":
      return defined({
        type: "tool_result",
        tool_use_id: part.id,
        content: part.content.length > 0 ? blocksOf(part.content) : undefined,
        is_error: part.isError ? true : undefined,
      });
  }
}

function mediaBlock({ type, source, name }: MediaPart): Fields {
  const title = type === "document" ? name : undefined;
  if (source.type === "url") return defined({ type, source: { type: "url", url: source.url }, title });
  if (type === "document" && source.mediaType.startsWith("text/")) {
    const data = Buffer.from(source.data, "base64").toString("utf8");
    return defined({ type, source: { type: "text", media_type: "text/plain", data }, title });
  }
  return defined({ type, source: { type: "base64", media_type: source.mediaType, data: source.data }, title });
}
