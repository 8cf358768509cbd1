import type { IncomingHttpHeaders } from "node:http";
import { TrainerError } from "../errors.ts";
import type { BodyType } from "../operations/call-body.ts";

const TYPES: Readonly<Record<string, BodyType>> = {
  "application/octet-stream": "octets",
  "application/msgpack": "msgpack",
  "application/x-msgpack": "msgpack",
  "application/vnd.msgpack": "msgpack",
};

const GZIP: ReadonlySet<string> = new Set(["gzip", "x-gzip"]);

/** The Content-Type of each body type. */
export const CONTENT_TYPES: Readonly<Record<BodyType, string>> = {
  json: "application/json",
  msgpack: "application/msgpack",
  octets: "application/octet-stream",
};

/** The type of a request body: JSON whatever Content-Type says, unless it is one of the binary types. */
export function bodyTypeOf(headers: IncomingHttpHeaders): BodyType {
  const encoding = encodingOf(headers);
  if (encoding !== "" && encoding !== "identity" && !GZIP.has(encoding)) {
    const message = `Content-Encoding ${encoding.slice(0, 50)} is not supported; send the body uncompressed or as gzip.`;
    throw new TrainerError("UNSUPPORTED_PARAMETERS", message);
  }
  const type = mediaType(headers["content-type"]);
  return Object.hasOwn(TYPES, type) ? (TYPES[type] as BodyType) : "json";
}

/** Whether the body has Content-Encoding gzip. */
export function isGzipped(headers: IncomingHttpHeaders): boolean {
  return GZIP.has(encodingOf(headers));
}

function encodingOf(headers: IncomingHttpHeaders): string {
  return headers["content-encoding"]?.trim().toLowerCase() ?? "";
}

/** The type of the answer: the first type of Accept that is known, else MessagePack for a MessagePack request and JSON for all others. */
export function answerTypeOf(headers: IncomingHttpHeaders, body: BodyType): BodyType {
  for (const accepted of (headers.accept ?? "").split(",")) {
    const type = mediaType(accepted);
    if (type === "application/json") return "json";
    if (Object.hasOwn(TYPES, type)) return TYPES[type] as BodyType;
  }
  return body === "msgpack" ? "msgpack" : "json";
}

function mediaType(value: string | undefined): string {
  return value?.split(";")[0]?.trim().toLowerCase() ?? "";
}
