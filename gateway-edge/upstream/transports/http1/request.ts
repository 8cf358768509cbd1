import type { Writable } from "node:stream";
import { AppError } from "../../../../common/errors.ts";
import type { CallIds, UpstreamRequest } from "../../providers/provider.ts";
import type { Address } from "../address.ts";
import { isSetByTransport } from "../connection-headers.ts";
import { exactBody } from "../exact-body.ts";

/** A request as it is written to a connection: head and body in one text where the body is text. */
export interface Message {
  readonly head: string | Buffer;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Whether the body is sent in chunks, because its size is not known. */
  readonly isChunked?: boolean;
  /** The answer to HEAD has no body, whatever its headers say. */
  readonly isHead: boolean;
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/i;
const ASCII_VALUE = /^[\t\x20-\x7e]*$/;
const LATIN_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Methods whose requests have no body, not even an empty one with a length. */
const BODILESS: ReadonlySet<string> = new Set(["HEAD", "OPTIONS", "DELETE"]);

const NAMES_MAX = 256;
/** Whether a name is passed on; checked once for each. */
const names = new Map<string, boolean>();

/** Throws UPSTREAM_UNAVAILABLE for a header that HTTP cannot express. */
export function serializeRequest(
  { path, authority }: Address,
  { method = "POST", headers, body, bodyBytes }: UpstreamRequest,
  ids: CallIds | undefined,
): Message {
  const isHead = method === "HEAD";
  const { fields, host, isAscii } = serializeHeaders(headers, authority);
  const start = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\n${idFields(headers, ids)}${fields}`;
  const encoded = (head: string) => (isAscii ? head : Buffer.from(head, "latin1"));
  if (method === "GET" || (BODILESS.has(method) && isEmpty(body))) return { head: encoded(`${start}\r\n`), isHead };
  if (typeof body === "string" && isAscii) return { head: `${start}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, isHead };
  const content = typeof body === "string" ? Buffer.from(body) : body;
  if (content instanceof Uint8Array) return { head: encoded(`${start}content-length: ${content.length}\r\n\r\n`), body: content, isHead };
  if (bodyBytes === undefined)
    return { head: encoded(`${start}transfer-encoding: chunked\r\n\r\n`), body: content, isChunked: true, isHead };
  return { head: encoded(`${start}content-length: ${bodyBytes}\r\n\r\n`), body: exactBody(content, bodyBytes), isHead };
}

/** Writes a piece of a chunked body; returns whether there is room for more. */
export function writeChunk(connection: Writable, bytes: Uint8Array): boolean {
  connection.cork();
  connection.write(`${bytes.length.toString(16)}\r\n`);
  connection.write(bytes);
  const hasRoom = connection.write("\r\n");
  connection.uncork();
  return hasRoom;
}

function serializeHeaders(headers: UpstreamRequest["headers"], authority: string) {
  let fields = "";
  let isAscii = true;
  let host = authority;
  for (const name of Object.keys(headers)) {
    const value = headers[name] ?? "";
    if (!ASCII_VALUE.test(value)) {
      if (!LATIN_VALUE.test(value)) throw unsendable(`the value of the header ${JSON.stringify(name.slice(0, 100))}`);
      isAscii = false;
    }
    if (isPassedOn(name)) fields += `${name}: ${value}\r\n`;
    else if (name.toLowerCase() === "host") host = value;
  }
  return { fields, host, isAscii };
}

/** Ids are plain ASCII: those of callers are checked when they arrive. */
function idFields(headers: UpstreamRequest["headers"], ids: CallIds | undefined): string {
  if (ids === undefined) return "";
  const { requestId, traceparent } = ids;
  const request = requestId === undefined || headers["x-request-id"] !== undefined ? "" : `x-request-id: ${requestId}\r\n`;
  return traceparent === undefined || headers["traceparent"] !== undefined ? request : `${request}traceparent: ${traceparent}\r\n`;
}

function isEmpty(body: UpstreamRequest["body"]): boolean {
  return (typeof body === "string" || body instanceof Uint8Array) && body.length === 0;
}

function isPassedOn(name: string): boolean {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (!NAME.test(name)) throw unsendable(`the header name ${JSON.stringify(name.slice(0, 100))}`);
  const lower = name.toLowerCase();
  const isPassed = lower !== "host" && !isSetByTransport(lower);
  if (names.size >= NAMES_MAX) names.clear();
  names.set(name, isPassed);
  return isPassed;
}

function unsendable(what: string): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal: `${what} cannot be sent over HTTP` });
}
