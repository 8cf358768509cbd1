import { systemClock } from "../../../common/clock.ts";
import { STATUS_CODES } from "../../../common/node-http.ts";
import { type HeaderList, nameAt } from "../../calls/header-list.ts";
import { KEEP_ALIVE_TIMEOUT_MS } from "./limits.ts";

/** The head of an answer, and what it says about the body and the connection. */
export interface AnswerHead {
  readonly text: string;
  readonly isInChunks: boolean;
  readonly isLast: boolean;
  /** Whether it can be written in one text with a body in UTF-8; other heads are Latin-1. */
  readonly isAscii: boolean;
}

interface AnswerHeaders {
  readonly headers: HeaderList;
  /** Headers that the answer has unless `headers` has them. */
  readonly early: HeaderList;
  /** Whether the connection closes after the answer in any case. */
  readonly isLast: boolean;
}

const NOT_ASCII = /[^\t\x20-\x7e]/;
/** As Node checks a value. */
const INVALID_CHARACTER = /[^\t\x20-\x7e\x80-\xff]/;
const SECOND_MS = 1000;
const KEPT_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_TIMEOUT_MS / SECOND_MS}\r\n`;
const CLOSED = "Connection: close\r\n";
const IN_CHUNKS = "Transfer-Encoding: chunked\r\n";
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304]);

/**
 * The head that Node would write, at a third of its cost: Node tests each name and each value by an expression of its own. Names are constants
 * of this program; the values are tested together.
 */
export function answerHead(status: number, { headers, early, isLast }: AnswerHeaders): AnswerHead {
  const head = { lines: "", values: "", hasLength: false, closes: false };
  for (let at = 0; at < headers.length; at += 2) add(head, headers[at] as string, headers[at + 1] as string);
  for (let at = 0; at < early.length; at += 2) {
    const name = early[at] as string;
    if (nameAt(headers, name) < 0) add(head, name, early[at + 1] as string);
  }
  const isAscii = !NOT_ASCII.test(head.values);
  if (!isAscii && INVALID_CHARACTER.test(head.values))
    throw Object.assign(new TypeError("Invalid character in header content"), { code: "ERR_INVALID_CHAR" });
  const isInChunks = !head.hasLength && !WITHOUT_BODY.has(status);
  const closes = isLast || head.closes;
  const own = `Date: ${dateText()}\r\n${head.closes ? "" : closes ? CLOSED : KEPT_ALIVE}${isInChunks ? IN_CHUNKS : ""}`;
  const text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n${head.lines}${own}\r\n`;
  return { text, isInChunks, isLast: closes, isAscii };
}

function add(head: { lines: string; values: string; hasLength: boolean; closes: boolean }, name: string, value: string): void {
  head.lines += `${name}: ${value}\r\n`;
  head.values += value;
  if (name === "content-length") head.hasLength = true;
  else if (name === "connection") head.closes = true;
}

let date = { text: "", second: Number.NaN };

function dateText(): string {
  const now = systemClock.now();
  const second = Math.floor(now / SECOND_MS);
  if (second !== date.second) date = { text: new Date(now).toUTCString(), second };
  return date.text;
}
