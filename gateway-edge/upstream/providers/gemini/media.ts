import type { Fields } from "../provider.ts";
import { asFields, asText } from "../shared/json-fields.ts";
import { closedReference, isOpenUrl } from "../shared/open-references.ts";
import { invalid } from "./fields.ts";

const DATA_URL = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s;

const TYPE_OF_ENDING: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
  pdf: "application/pdf",
  txt: "text/plain",
  mp3: "audio/mp3",
  wav: "audio/wav",
  flac: "audio/flac",
  ogg: "audio/ogg",
  aac: "audio/aac",
  mp4: "video/mp4",
  mov: "video/quicktime",
  webm: "video/webm",
};

/** A part that is not text: its bytes, or a URL that Google fetches itself. */
export function mediaPart(part: Fields): Fields {
  switch (part["type"]) {
    case "image_url":
      return atAddress(part["image_url"], "image/jpeg");
    case "video_url":
      return atAddress(part["video_url"], "video/mp4");
    case "input_audio":
      return audio(asFields(part["input_audio"]));
    case "file":
      return file(asFields(part["file"]));
    default:
      throw invalid(`This model does not support content parts of the type ${String(part["type"]).slice(0, 64)}.`, "messages");
  }
}

function atAddress(value: unknown, otherwise: string): Fields {
  const { url, format } = typeof value === "string" ? { url: value, format: undefined } : asFields(value);
  if (typeof url !== "string") throw invalid("A content part has no URL.", "messages");
  return inline(url) ?? fileData(url, asText(format) ?? typeByName(url) ?? otherwise);
}

function audio({ data, format }: Fields): Fields {
  if (typeof data !== "string") throw invalid("An audio part has no data.", "messages");
  const type = asText(format) ?? "wav";
  return inline(data) ?? { inlineData: { mimeType: TYPE_OF_ENDING[type] ?? `audio/${type}`, data } };
}

/** `file_id` is a URL, such as that of a file in Google's Files API. */
function file({ file_data: data, file_id: id, filename, format }: Fields): Fields {
  const type = asText(format) ?? typeByName(asText(filename) ?? asText(id) ?? "") ?? "application/pdf";
  if (typeof data === "string") return inline(data) ?? { inlineData: { mimeType: type, data } };
  if (typeof id === "string") return fileData(id, type);
  throw invalid("A file has neither file_data nor file_id.", "messages");
}

/** Google reads other addresses, gs:// above all, with the operator's identity. */
function fileData(uri: string, mimeType: string): Fields {
  if (!isOpenUrl(uri)) throw closedReference("messages");
  return { fileData: { mimeType, fileUri: uri } };
}

function inline(text: string): Fields | undefined {
  if (!text.startsWith("data:")) return undefined;
  const [, mimeType = "", data] = DATA_URL.exec(text) ?? [];
  if (data === undefined) throw invalid("A data URL must be base64.", "messages");
  return { inlineData: { mimeType: mimeType === "" ? "application/octet-stream" : mimeType, data } };
}

function typeByName(name: string): string | undefined {
  // Not by one expression: a caller's text has any length, and finding the ending from the front would take its square.
  const [path = ""] = name.split(/[?#]/, 1);
  const dot = path.lastIndexOf(".");
  const ending = dot < 0 ? undefined : /^[a-z0-9]+$/i.exec(path.slice(dot + 1))?.[0];
  return ending === undefined ? undefined : TYPE_OF_ENDING[ending.toLowerCase()];
}
