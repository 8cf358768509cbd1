import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { finished } from "node:stream/promises";
import { AppError } from "../../common/errors.ts";
import { ignore } from "../../common/ignore.ts";
import { jsonDepthExceeds } from "../../common/json.ts";
import type { WholeRequest } from "./http-exchange.ts";

const JSON_DEPTH_MAX = 64;

type BodyRequest = IncomingMessage | WholeRequest;

/** Reads a whole body of at most `bytesMax`. A larger declared length is refused before anything is read. */
export function readBody(request: BodyRequest, bytesMax: number): Buffer | Promise<Buffer> {
  requireIdentity(request);
  const declared = Number(request.headers["content-length"] ?? 0);
  if ("wholeBody" in request) {
    if (declared > bytesMax) throw tooLarge({ limit: bytesMax, size: declared });
    return request.wholeBody;
  }
  return new Promise((resolve, reject) => {
    const refuse = (size: number) => void dropRest(request).then(() => reject(tooLarge({ limit: bytesMax, size })));
    if (declared > bytesMax) refuse(declared);
    else collect(request, { bytesMax, resolve, reject, refuse });
  });
}

interface Collecting {
  readonly bytesMax: number;
  resolve(body: Buffer): void;
  reject(error: unknown): void;
  /** The body exceeds `bytesMax` before its end. */
  refuse(size: number): void;
}

/** By events: for a small body an async iterator costs more than parsing. Rejects as the iterator does when the body breaks off. */
function collect(request: IncomingMessage, { bytesMax, resolve, reject, refuse }: Collecting): void {
  const chunks: Buffer[] = [];
  let size = 0;
  let isOver = false;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size <= bytesMax) return;
    // Not destroyed: the refusal is sent over the same socket.
    request.off("data", take);
    isOver = true;
    refuse(size);
  };
  const end = () => {
    if (!isOver) resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size));
  };
  const close = () => {
    if (!isOver && !request.readableEnded) reject(request.errored ?? brokenOff());
  };
  const fail = (error: unknown) => {
    if (!isOver) reject(error);
  };
  if (request.readableEnded) end();
  else if (request.destroyed) close();
  else request.on("data", take).on("end", end).on("error", fail).on("close", close);
}

function brokenOff(): Error {
  return Object.assign(new Error("the body broke off"), { code: "ERR_STREAM_PREMATURE_CLOSE" });
}

/** Refuses a compressed body. */
export function requireIdentity(request: Pick<IncomingMessage, "headers">): void {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding.toLowerCase() === "identity") return;
  throw new AppError("UNSUPPORTED_MEDIA_TYPE", `Content-Encoding "${encoding}" is not accepted. Send the body uncompressed.`);
}

/** A body as JSON with at most 64 levels. */
export function parseJson(bytes: Buffer): unknown {
  // To decode would replace such bytes: the caller would not learn that its text was lost.
  if (!isUtf8(bytes)) throw new AppError("INVALID_JSON", "The body is not valid JSON: its bytes are not UTF-8.");
  const text = bytes.toString("utf8");
  if (jsonDepthExceeds(text, JSON_DEPTH_MAX)) {
    throw new AppError("INVALID_JSON", `The JSON body is nested deeper than ${JSON_DEPTH_MAX} levels.`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    // No `cause`: its message quotes the body, and a body may hold a password.
    throw new AppError("INVALID_JSON", `The body is not valid JSON: ${withoutQuote((cause as Error).message)}`);
  }
}

/**
 * V8 describes the error and sometimes quotes the text around it: `Unexpected token 'x', ..."word":"s3cret"x" is not …`. Its `at position 7
 * (line 1 column 8)` is cut at the position: scanners take the rest for a line of a stack trace.
 */
function withoutQuote(message: string): string {
  return message.replace(/,? (\.\.\.)?".*$/s, "").replace(/ \(line .*$/s, "");
}

/** Refuses a body with another content type than JSON; a body without one is taken as JSON. */
export function requireJsonType(request: Pick<IncomingMessage, "headers">): void {
  const type = request.headers["content-type"];
  // Nearly all clients send exactly this.
  if (type === "application/json" || type === undefined || /^application\/([a-z0-9.+-]+\+)?json\s*(;|$)/i.test(type)) return;
  throw new AppError("UNSUPPORTED_MEDIA_TYPE", `Content-Type "${type.slice(0, 100)}" is not accepted. Send application/json.`);
}

const REST_MS_MAX = 2_000;

/**
 * Reads the rest of a body, for a limited time. Most clients do not read while they send: a closed socket would show them a broken pipe,
 * which they retry, instead of the answer.
 */
export async function dropRest(request: IncomingMessage): Promise<void> {
  request.resume();
  const rest = finished(request, { writable: false, signal: AbortSignal.timeout(REST_MS_MAX) });
  await ignore(rest, "the answer is an error already");
}

function tooLarge({ limit, size }: { limit: number; size: number }): AppError {
  return new AppError("PAYLOAD_TOO_LARGE", `The body has ${size} bytes or more; the limit is ${limit}.`);
}
