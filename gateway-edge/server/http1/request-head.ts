import type { IncomingHttpHeaders } from "node:http";

/** The head of a request with a body of known length. */
export interface RequestHead {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Each name as it was sent, before its value. */
  readonly rawHeaders: string[];
  readonly bodyBytes: number;
}

/** The paths of a table, by the first line of a request for each of them. */
export type RequestLines = ReadonlyMap<string, string>;

export function requestLines(paths: Iterable<string>): RequestLines {
  return new Map(Array.from(paths, (path) => [`POST ${path} HTTP/1.1`, path]));
}

/** Node's limits are 64 and 16 KiB, and it answers what exceeds them. */
const HEADERS_MAX = 60;
export const HEAD_BYTES_MAX = 8 * 1024;

/** Lines of visible characters; a line ends with CR and LF. */
const LINES = /^(?:[\t\x20-\x7e\x80-\xff]*\r\n)*[\t\x20-\x7e\x80-\xff]*$/;
const NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;
const LENGTH = /^\d{1,9}$/;
const [TAB, SPACE] = [0x09, 0x20];

/** Names whose meaning is Node's: such a request is left to it. */
const LEFT_TO_NODE = new Set([
  ...["transfer-encoding", "expect", "upgrade", "trailer", "te", "keep-alive", "proxy-connection", "http2-settings", "set-cookie"],
]);

/**
 * The head of the usual request of a call: a path of the table, each header once, one length, nothing about the connection but that it stays
 * open. Undefined for every other head, valid or not, which Node's parser then reads or refuses: this reader only accepts what has one reading.
 */
export function readHead(text: string, lines: RequestLines): RequestHead | undefined {
  const firstEnd = text.indexOf("\r\n");
  const path = firstEnd < 0 ? undefined : lines.get(text.slice(0, firstEnd));
  if (path === undefined || !LINES.test(text)) return undefined;
  const headers: Record<string, string> = {};
  const rawHeaders: string[] = [];
  for (let at = firstEnd + 2; at < text.length; ) {
    const colon = text.indexOf(":", at);
    const found = text.indexOf("\r\n", at);
    const end = found < 0 ? text.length : found;
    if (colon < 0 || colon > end) return undefined;
    const raw = text.slice(at, colon);
    const name = knownName(raw);
    // Of an object every name counts as present that all objects have, such as `constructor`.
    if (name === undefined || headers[name] !== undefined) return undefined;
    const value = trimmed(text, colon + 1, end);
    headers[name] = value;
    rawHeaders.push(raw, value);
    at = end + 2;
  }
  const { host, connection = "keep-alive", "content-length": length = "" } = headers;
  const isUsual = host !== undefined && connection.toLowerCase() === "keep-alive" && LENGTH.test(length);
  return isUsual && rawHeaders.length <= 2 * HEADERS_MAX ? { path, headers, rawHeaders, bodyBytes: Number(length) } : undefined;
}

/** Names in lower case. Bounded, because clients choose names; the usual ones are soon known again. */
const known = new Map<string, string>();
const KNOWN_MAX = 1024;

/** Undefined: a request with this name is left to Node. */
function knownName(raw: string): string | undefined {
  const name = known.get(raw);
  if (name !== undefined) return name;
  const lower = raw.toLowerCase();
  if (!NAME.test(raw) || LEFT_TO_NODE.has(lower)) return undefined;
  if (known.size >= KNOWN_MAX) known.clear();
  // A part of a text keeps the whole of it alive, here a head with its key: its bytes are copied.
  known.set(Buffer.from(raw, "latin1").toString("latin1"), lower);
  return lower;
}

function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}
