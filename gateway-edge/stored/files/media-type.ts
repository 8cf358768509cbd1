import { isUtf8 } from "node:buffer";

const TYPE_OF_ENDING: Readonly<Record<string, string>> = {
  csv: "text/csv",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  html: "text/html",
  json: "application/json",
  md: "text/markdown",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  xml: "text/xml",
};

/** The media type of a file: by its first bytes, because its name may be wrong, and then by its name. */
export function mediaTypeOf({ name, bytes }: { name: string; bytes: Buffer }): string {
  const known = imageType(bytes);
  if (known !== undefined) return known;
  if (bytes.subarray(0, 5).toString("latin1") === "%PDF-") return "application/pdf";
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return (Object.hasOwn(TYPE_OF_ENDING, ending) && TYPE_OF_ENDING[ending]) || (isText(bytes) ? "text/plain" : "application/octet-stream");
}

export function imageType(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 12).toString("latin1");
  if (head.startsWith("\x89PNG")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8) === "WEBP") return "image/webp";
  return undefined;
}

export function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}
