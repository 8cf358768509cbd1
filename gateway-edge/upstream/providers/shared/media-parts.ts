import { AppError } from "../../../../common/errors.ts";
import type { Fields } from "../provider.ts";
import { asFields, asText } from "./json-fields.ts";

/** An image or a document of a message, with its bytes or its URL. */
export interface MediaPart {
  readonly type: "image" | "document";
  readonly source: MediaSource;
  readonly name?: string | undefined;
  readonly cacheControl?: Fields | undefined;
}

export type MediaSource =
  | { readonly type: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly type: "url"; readonly url: string };

export function readImage(value: unknown, where: string): MediaPart {
  const url = typeof value === "string" ? value : (asText(asFields(value)["url"]) ?? "");
  const source = readSource(url);
  if (!source) throw new AppError("INVALID_REQUEST", "An image must be a data URL or an https URL.", { param: `${where}.image_url` });
  return { type: "image", source };
}

/** A file part: its data as a data URL or as plain base64 of a PDF, or a URL in place of its id. */
export function readFile(file: Fields, where: string): MediaPart {
  const data = asText(file["file_data"]);
  const source = data === undefined ? readSource(asText(file["file_id"]) ?? "") : (readSource(data) ?? base64Pdf(data));
  if (!source) throw new AppError("INVALID_REQUEST", "A file needs its data: send file_data as a data URL.", { param: `${where}.file` });
  const isImage = source.type === "base64" && source.mediaType.startsWith("image/");
  return { type: isImage ? "image" : "document", source, name: asText(file["filename"]) };
}

function readSource(url: string): MediaSource | undefined {
  if (/^https?:\/\//i.test(url)) return { type: "url", url };
  // Not one regular expression over the whole text: data may have many megabytes.
  const comma = url.indexOf(",");
  if (!/^data:/i.test(url) || comma < 0) return undefined;
  const [mediaType = "", ...options] = url.slice("data:".length, comma).split(";");
  const content = url.slice(comma + 1);
  const data = options.includes("base64") ? content : encoded(content);
  return data === undefined ? undefined : { type: "base64", mediaType: mediaType.toLowerCase() || "text/plain", data };
}

function encoded(content: string): string | undefined {
  try {
    return Buffer.from(decodeURIComponent(content), "utf8").toString("base64");
  } catch {
    return undefined;
  }
}

function base64Pdf(data: string): MediaSource | undefined {
  // The start of "%PDF" in base64.
  return data.startsWith("JVBERi") ? { type: "base64", mediaType: "application/pdf", data } : undefined;
}
