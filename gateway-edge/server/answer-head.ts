import type { IncomingMessage, ServerResponse } from "node:http";
import { systemClock } from "../../common/clock.ts";
import { type HeaderList, nameAt } from "../calls/header-list.ts";

/** Fields in which Node's responses hold their head until the first bytes of the body; they have been there since its first versions. */
interface HeldHead {
  _header: string | null;
  _contentLength: number | null;
  readonly _keepAliveTimeout?: number;
}

type Answering = ServerResponse<IncomingMessage> & HeldHead;

/** As Node checks a value. */
const INVALID_CHARACTER = /[^\t\x20-\x7e\x80-\xff]/;
const SECOND_MS = 1000;

/**
 * Writes the head of an answer with a body of known length on a connection that stays open, as Node does, at a third of its cost: Node tests
 * each name and each value by an expression of its own. Names are constants of this program; the values are tested together. Returns false,
 * and writes nothing, for every other answer, for a value that Node refuses, and if Node's responses are not made as they are today: then
 * Node writes the head (decision 51).
 */
export function writeKnownHead(response: ServerResponse, status: number, headers: HeaderList, early: HeaderList): boolean {
  const answering = response as Answering;
  if (status !== 200 || answering._header !== null || !isPlain(answering)) return false;
  let [lines, values, length] = ["", "", -1];
  for (let at = 0; at < headers.length; at += 2) {
    const [name, value] = [headers[at] as string, headers[at + 1] as string];
    if (name === "content-length") length = Number(value);
    else if (!isKnown(name)) return false;
    lines += `${name}: ${value}\r\n`;
    values += value;
  }
  for (let at = 0; at < early.length; at += 2) {
    const [name, value] = [early[at] as string, early[at + 1] as string];
    if (nameAt(headers, name) >= 0) continue;
    if (!isKnown(name)) return false;
    lines += `${name}: ${value}\r\n`;
    values += value;
  }
  if (length < 0 || INVALID_CHARACTER.test(values)) return false;
  answering.statusCode = status;
  answering.statusMessage = "OK";
  answering._contentLength = length;
  answering._header = `HTTP/1.1 200 OK\r\n${lines}Date: ${dateText()}\r\n${keptAlive(answering)}\r\n`;
  return true;
}

/** Whether nothing but its headers determines how the answer is sent. */
function isPlain(response: Answering): boolean {
  const { req: request, shouldKeepAlive, sendDate } = response;
  const isUsual = request.method === "POST" && request.httpVersion === "1.1" && request.headers.expect === undefined;
  return isUsual && shouldKeepAlive && sendDate && response.getHeaderNames().length === 0;
}

/** Whether a header says nothing about the connection or the body that Node has to act on. */
function isKnown(name: string): boolean {
  return (name.charCodeAt(0) === LETTER_X && name.charCodeAt(1) === HYPHEN) || name === "content-type";
}

const [LETTER_X, HYPHEN] = [0x78, 0x2d];

let date = { text: "", second: Number.NaN };

function dateText(): string {
  const now = systemClock.now();
  const second = Math.floor(now / SECOND_MS);
  if (second !== date.second) date = { text: new Date(now).toUTCString(), second };
  return date.text;
}

let kept = { text: "", timeoutMs: Number.NaN };

function keptAlive({ _keepAliveTimeout: timeoutMs = 0 }: Answering): string {
  if (timeoutMs !== kept.timeoutMs) {
    const limit = timeoutMs > 0 ? `Keep-Alive: timeout=${Math.floor(timeoutMs / SECOND_MS)}\r\n` : "";
    kept = { text: `Connection: keep-alive\r\n${limit}`, timeoutMs };
  }
  return kept.text;
}
