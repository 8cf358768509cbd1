/** What a connection receives of an answer, in this order; `data` and `end` follow the head. */
export interface ResponseEvents {
  head(status: number, headers: Record<string, string>): void;
  /** The body bytes of one read of the socket, however they are split into chunks. The receiver owns them. */
  data(bytes: Buffer): void;
  end(): void;
}

/** The upstream violates HTTP/1.1: the end of its answer cannot be determined. */
export class ProtocolError extends Error {
  readonly code = "EPROTO";
}

type State = "head" | "fixed" | "size" | "chunk" | "chunk end" | "trailers" | "until close" | "done";

const HEAD_BYTES_MAX = 64 * 1024;
const LINE_BYTES_MAX = 4096;

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_END = Buffer.from("\r\n");
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Whole lines without control characters. Lookarounds for half a line end would cost twice as much. */
const SAFE = /^(?:[\t\x20-\x7e\x80-\xff]*\r\n)*[\t\x20-\x7e\x80-\xff]*$/;
const LENGTH = /^\d{1,15}$/;
const FRAMING: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);
/** Some upstreams write it at a fixed width, with leading zeros. */
const CHUNK_SIZE = /^0*([0-9A-Fa-f]{1,13})[ \t]*(?:;.*)?$/;

const PLAIN_DIGITS_MAX = 7;
const NAMES_MAX = 256;
/** There are few header names, and each answer would check and lower-case them again. */
const names = new Map<string, string>();

/**
 * Parses HTTP/1.1 answers of one connection, however they are split into chunks. Strict where two readings are possible: two lengths, a
 * length beside chunked encoding, an encoding that was not requested and half a line end are errors, which close the connection.
 */
export class ResponseParser {
  readonly #events: ResponseEvents;
  #state: State = "head";
  /** The incomplete line or head. */
  #begun: Buffer | undefined;
  /** Remaining bytes of the body, or of its chunk. */
  #left = 0;
  #trailerBytes = 0;
  /** The bytes that are parsed now, and where in them the body bytes that were not passed on yet are. */
  #piece: Buffer | undefined;
  #copies = false;
  #from = 0;
  #to = 0;
  #isHead = false;
  #reusable = false;
  #idleMs: number | undefined;

  constructor(events: ResponseEvents) {
    this.#events = events;
  }

  /** For the next answer on the same connection; one to HEAD has no body. */
  begin({ isHead }: { readonly isHead: boolean }): void {
    this.#isHead = isHead;
    this.#state = "head";
    this.#trailerBytes = 0;
  }

  /** Whether another answer may follow after this one. */
  get reusable(): boolean {
    return this.#reusable && this.#begun === undefined;
  }

  /** How long the upstream keeps an idle connection open, if it announced that. */
  get idleMs(): number | undefined {
    return this.#idleMs;
  }

  /** Body bytes are moved together within `bytes`. `isShared`: the memory is reused for the next read, so forwarded bytes are copied. */
  feed(bytes: Buffer, isShared: boolean): void {
    let [piece, copies] = [bytes, isShared];
    if (this.#begun) {
      [piece, copies] = [Buffer.concat([this.#begun, bytes]), false];
      this.#begun = undefined;
    }
    this.#piece = piece;
    this.#copies = copies;
    try {
      const rest = this.#rest(piece);
      // An incomplete line. The rest of a shared chunk is copied.
      if (rest) this.#begun = copies ? Buffer.from(rest) : rest;
    } finally {
      this.#passOn();
      this.#piece = undefined;
    }
  }

  /** Parses as much as possible; returns what is left. */
  #rest(piece: Buffer): Buffer | undefined {
    for (let at = 0; at < piece.length; ) {
      const next = this.#step(piece, at);
      if (next === undefined) return piece.subarray(at);
      at = next;
    }
    return undefined;
  }

  #passOn(): void {
    const part = this.#piece?.subarray(this.#from, this.#to);
    this.#from = this.#to;
    if (part && part.length > 0) this.#events.data(this.#copies ? Buffer.from(part) : part);
  }

  /** The upstream closed the connection; returns whether that completes its answer. */
  closed(): boolean {
    if (this.#state !== "until close") return this.#state === "done";
    this.#reusable = false;
    this.#finish();
    return true;
  }

  /** Where to continue; undefined: more bytes are needed. */
  #step(piece: Buffer, at: number): number | undefined {
    switch (this.#state) {
      case "head":
        return this.#readHead(piece, at);
      case "fixed":
      case "chunk":
      case "until close":
        return this.#readBody(piece, at);
      case "size":
        return this.#readSize(piece, at);
      case "chunk end":
        return this.#readChunkEnd(piece, at);
      case "trailers":
        return this.#readTrailer(piece, at);
      case "done":
        // More bytes than the answer has: stored, so that the connection is not reused.
        return undefined;
    }
  }

  #readHead(piece: Buffer, at: number): number | undefined {
    const end = piece.indexOf(HEAD_END, at);
    if ((end < 0 ? piece.length : end) - at > HEAD_BYTES_MAX) throw new ProtocolError("the head of the answer is too long");
    if (end < 0) return undefined;
    const head = readHead(piece.toString("latin1", at, end));
    // Informational responses such as early hints: the answer follows.
    if (head.status >= 200) this.#begin(head);
    else if (head.status === 101)
      throw new ProtocolError("the upstream switched protocols (101) although the request did not ask for an upgrade");
    return end + HEAD_END.length;
  }

  #begin({ status, headers, isOld }: Head): void {
    const codings = headers["transfer-encoding"];
    const length = headers["content-length"];
    if (codings !== undefined && length !== undefined) throw new ProtocolError("the answer has a length and comes in chunks");
    const options = headers["connection"]?.toLowerCase() ?? "";
    this.#reusable = isOld ? options.includes("keep-alive") : !options.includes("close");
    this.#idleMs = idleMsOf(headers["keep-alive"]);
    this.#state = this.#bodyState(status, codings, length);
    if (this.#state === "until close") this.#reusable = false;
    this.#events.head(status, headers);
    if (this.#state === "done") this.#events.end();
  }

  #bodyState(status: number, codings: string | undefined, length: string | undefined): State {
    if (this.#isHead || status === 204 || status === 304) return "done";
    if (codings !== undefined) {
      if (codings.toLowerCase() !== "chunked") throw new ProtocolError(`the answer is coded as ${codings}`);
      return "size";
    }
    if (length === undefined) return "until close";
    if (!LENGTH.test(length)) throw new ProtocolError(`the answer's length is ${length}`);
    this.#left = Number(length);
    return this.#left === 0 ? "done" : "fixed";
  }

  #readBody(piece: Buffer, at: number): number {
    const end = this.#state === "until close" ? piece.length : Math.min(piece.length, at + this.#left);
    this.#left -= end - at;
    if (this.#from === this.#to) [this.#from, this.#to] = [at, at];
    else piece.copyWithin(this.#to, at, end);
    this.#to += end - at;
    if (this.#left === 0 && this.#state === "chunk") this.#state = "chunk end";
    else if (this.#left === 0 && this.#state === "fixed") this.#finish();
    return end;
  }

  #readSize(piece: Buffer, at: number): number | undefined {
    let [size, end] = [0, at];
    for (let digit = hexDigit(piece[at]); digit >= 0 && end - at < PLAIN_DIGITS_MAX; digit = hexDigit(piece[end])) {
      size = size * 16 + digit;
      end++;
    }
    // Nearly every size is a few digits and nothing else.
    return end > at && piece[end] === 13 && piece[end + 1] === 10 ? this.#beginChunk(size, end) : this.#readOtherSize(piece, at);
  }

  #readOtherSize(piece: Buffer, at: number): number | undefined {
    const end = lineEnd(piece, at);
    if (end === undefined) return undefined;
    const line = piece.toString("latin1", at, end);
    const digits = CHUNK_SIZE.exec(line)?.[1];
    if (digits === undefined) throw new ProtocolError(`a chunk's size is ${JSON.stringify(line.slice(0, 40))}`);
    return this.#beginChunk(Number.parseInt(digits, 16), end);
  }

  #beginChunk(size: number, lineEnd: number): number {
    this.#left = size;
    this.#state = size === 0 ? "trailers" : "chunk";
    return lineEnd + LINE_END.length;
  }

  #readChunkEnd(piece: Buffer, at: number): number | undefined {
    if (piece.length - at < LINE_END.length) return undefined;
    if (piece[at] !== 13 || piece[at + 1] !== 10) throw new ProtocolError("a chunk is longer than its size");
    this.#state = "size";
    return at + LINE_END.length;
  }

  /** Trailers are ignored. */
  #readTrailer(piece: Buffer, at: number): number | undefined {
    const end = lineEnd(piece, at);
    if (end === undefined) return undefined;
    this.#trailerBytes += end - at;
    if (this.#trailerBytes > LINE_BYTES_MAX) throw new ProtocolError("the answer's trailers are too long");
    if (end === at) this.#finish();
    return end + LINE_END.length;
  }

  #finish(): void {
    this.#passOn();
    this.#state = "done";
    this.#events.end();
  }
}

interface Head {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** HTTP/1.0. */
  readonly isOld: boolean;
}

function readHead(text: string): Head {
  if (!SAFE.test(text)) throw new ProtocolError("the head of the answer holds control characters");
  const first = text.indexOf("\r\n");
  const statusLine = first < 0 ? text : text.slice(0, first);
  const [, minor, status] = STATUS_LINE.exec(statusLine) ?? [];
  if (status === undefined) throw new ProtocolError(`the answer begins with ${JSON.stringify(statusLine.slice(0, 60))}`);
  const headers: Record<string, string> = {};
  for (let start = first < 0 ? text.length : first + 2; start < text.length; ) {
    const next = text.indexOf("\r\n", start);
    const end = next < 0 ? text.length : next;
    const colon = text.indexOf(":", start);
    if (colon <= start || colon > end) throw new ProtocolError("a header of the answer is none");
    addHeader(headers, nameOf(text.slice(start, colon)), text.slice(colon + 1, end).trim());
    start = end + 2;
  }
  return { status: Number(status), headers, isOld: minor === "0" };
}

function addHeader(headers: Record<string, string>, name: string, value: string): void {
  const before = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (before === undefined) headers[name] = value;
  // Sent twice, by the upstream and by a proxy before it.
  else if (FRAMING.has(name) && before === value) return;
  else if (name === "content-length") throw new ProtocolError("the answer has two lengths");
  else headers[name] = `${before}, ${value}`;
}

/** A header name in lower case. A folded line has none, and is refused. */
function nameOf(written: string): string {
  const known = names.get(written);
  if (known !== undefined) return known;
  if (!NAME.test(written)) throw new ProtocolError("the name of a header of the answer is none");
  const name = written.toLowerCase();
  if (names.size >= NAMES_MAX) names.clear();
  names.set(written, name);
  return name;
}

/** Below zero: the byte is no digit. */
function hexDigit(byte = 0): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

function lineEnd(piece: Buffer, at: number): number | undefined {
  const end = piece.indexOf(LINE_END, at);
  if ((end < 0 ? piece.length : end) - at > LINE_BYTES_MAX) throw new ProtocolError("a line of the answer is too long");
  return end < 0 ? undefined : end;
}

function idleMsOf(keepAlive: string | undefined): number | undefined {
  const seconds = keepAlive === undefined ? undefined : /(?:^|[,;\s])timeout=(\d{1,6})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
