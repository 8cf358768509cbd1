import fc from "fast-check";
import { ProtocolError, ResponseParser } from "./response-parser.ts";

interface Received {
  status: number | undefined;
  headers: Record<string, string>;
  body: string;
  ended: boolean;
}

/** Feeds the pieces one after the other, each from memory that is overwritten afterwards. */
function parse(pieces: readonly Buffer[]): { received: Received; parser: ResponseParser } {
  const received: Received = { status: undefined, headers: {}, body: "", ended: false };
  const parts: Buffer[] = [];
  const parser = new ResponseParser({
    head: (status, headers) => {
      expect(received.status).toBeUndefined();
      Object.assign(received, { status, headers });
    },
    data: (bytes) => {
      expect([received.status !== undefined, received.ended]).toEqual([true, false]);
      parts.push(bytes);
    },
    end: () => {
      expect(received.ended).toBe(false);
      received.ended = true;
    },
  });
  for (const piece of pieces) {
    const shared = Buffer.from(piece);
    parser.feed(shared, true);
    shared.fill("?");
  }
  received.body = Buffer.concat(parts).toString("latin1");
  return { received, parser };
}

const whole = (text: string) => parse([Buffer.from(text, "latin1")]);

/** Cut at any places. */
function cut(message: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (message.length + 1)).sort((left, right) => left - right), message.length];
  return at.slice(1).map((end, index) => message.subarray(at[index], end));
}

const bytes = fc.string({ unit: "binary", maxLength: 300 }).map((text) => Buffer.from(text).toString("latin1"));
const chunks = fc.array(
  bytes.filter((text) => text.length > 0),
  { maxLength: 6 },
);
const places = fc.array(fc.nat(2000), { maxLength: 12 });
const hints = fc.constantFrom("", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n");

test("an answer of a known length is read alike, however it is cut", () => {
  fc.assert(
    fc.property(bytes, hints, places, (body, hint, at) => {
      const message = `${hint}HTTP/1.1 200 OK\r\nX-Name:  a b \r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const { received, parser } = parse(cut(Buffer.from(message, "latin1"), at));
      const headers = { "x-name": "a b", "content-length": String(body.length) };
      expect(received).toEqual({ status: 200, headers, body, ended: true });
      expect(parser.reusable).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test("an answer in chunks is read alike, however it is cut, with extensions and trailers", () => {
  fc.assert(
    fc.property(chunks, fc.boolean(), fc.boolean(), places, (parts, extended, trailed, at) => {
      const lines = parts.map((part) => `${part.length.toString(16)}${extended ? ";a=b" : ""}\r\n${part}\r\n`).join("");
      const message = `HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n${lines}0\r\n${trailed ? "x-sum: 1\r\n" : ""}\r\n`;
      const { received, parser } = parse(cut(Buffer.from(message, "latin1"), at));
      expect([received.body, received.ended, parser.reusable]).toEqual([parts.join(""), true, true]);
    }),
    { numRuns: 300 },
  );
});

test.each([true, false])(
  "the chunks of one read are one piece of the body, before the end and before an error (shared memory: %s)",
  (isShared) => {
    const seen: string[] = [];
    const parser = new ResponseParser({
      head: (status) => seen.push(String(status)),
      data: (part) => seen.push(part.toString()),
      end: () => seen.push("end"),
    });
    const read = (text: string) => parser.feed(Buffer.from(text), isShared);
    read("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n00B\r\nbcdefghijkl\r\n2;x=y\r\nmn\r\n3\r\no");
    read("pq\r\n1\r");
    read("\nr\r\n");
    expect(() => read("1\r\ns\r\n1\r\ntuv")).toThrow(ProtocolError);
    expect(seen).toEqual(["200", "abcdefghijklmno", "pq", "r", "st"]);
    const last = new ResponseParser({ head: () => {}, data: (part) => seen.push(part.toString()), end: () => seen.push("end") });
    last.feed(Buffer.from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nv\r\n1\r\nw\r\n0\r\n\r\n"), isShared);
    expect(seen.slice(5)).toEqual(["vw", "end"]);
  },
);

test("one answer after the other on one connection, each by itself", () => {
  const { parser, received } = whole("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab");
  expect([received.body, parser.reusable]).toEqual(["ab", true]);
  const second = { status: 0, body: "" };
  const parsed = new ResponseParser({
    head: (status) => Object.assign(second, { status }),
    data: (part) => Object.assign(second, { body: second.body + part.toString() }),
    end: () => {},
  });
  for (const message of [
    "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na",
    "HTTP/1.1 404 No\r\ntransfer-encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n",
  ]) {
    parsed.begin({ isHead: false });
    parsed.feed(Buffer.from(message), false);
    expect(parsed.reusable).toBe(true);
  }
  expect(second).toEqual({ status: 404, body: "ab" });
});

test.each([
  ["HTTP/1.1 204 No Content\r\n\r\n", true],
  ["HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", true],
  ["HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", true],
  ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n", true],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", true],
  ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: Close\r\n\r\n", false],
  ["HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", false],
  ["HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n", true],
  ["HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na and more", false],
  ["HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", false],
])("%j has ended; the connection can be used again: %s", (message, reusable) => {
  const { received, parser } = whole(message);
  expect([received.ended, parser.reusable]).toEqual([true, reusable]);
});

test("an answer without a length ends with its connection, and only that", () => {
  const { received, parser } = whole("HTTP/1.1 200 OK\r\n\r\nall there is");
  expect([received.body, received.ended]).toEqual(["all there is", false]);
  expect([parser.closed(), received.ended, parser.reusable]).toEqual([true, true, false]);
  for (const begun of [
    "",
    "HTTP/1.1 200",
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n",
  ]) {
    expect(whole(begun).parser.closed()).toBe(false);
  }
});

test("a chunk's size may have zeros in front, and is still no larger than can be counted", () => {
  const sized = (size: string, last: string) => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${size}\r\nabc\r\n${last}\r\n\r\n`;
  const { received } = whole(sized("0000000000000003", "0000000000000000"));
  expect([received.body, received.ended]).toEqual(["abc", true]);
  expect(() => whole(sized("10000000000003", "0"))).toThrow(ProtocolError);
});

test("headers of one name are joined, whatever the name", () => {
  const { received } = whole("HTTP/1.1 204 x\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nconstructor: c\r\n\r\n");
  expect(Object.entries(received.headers)).toEqual([
    ["set-cookie", "a=1, b=2"],
    ["constructor", "c"],
  ]);
});

test("the upstream's keep-alive timeout is read where it is announced", () => {
  const idleMs = (value: string) => whole(`HTTP/1.1 204 x\r\nkeep-alive: ${value}\r\n\r\n`).parser.idleMs;
  expect(["timeout=5", "max=3, timeout=12", "timeout=x", "nottimeout=4"].map(idleMs)).toEqual([5000, 12_000, undefined, undefined]);
});

test.each([
  ["no status line", "hello\r\n\r\n"],
  ["another version", "HTTP/2 200 OK\r\n\r\n"],
  ["no status", "HTTP/1.1 2x0 OK\r\n\r\n"],
  ["a status that is none", "HTTP/1.1 099 OK\r\n\r\n"],
  ["another protocol", "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n"],
  ["a header without a name", "HTTP/1.1 200 OK\r\n: x\r\n\r\n"],
  ["a header without a colon", "HTTP/1.1 200 OK\r\nabc\r\n\r\n"],
  ["a space in a name", "HTTP/1.1 200 OK\r\ncontent-length : 1\r\n\r\na"],
  ["a folded header", "HTTP/1.1 200 OK\r\na: b\r\n c: d\r\n\r\n"],
  ["a lone line feed", "HTTP/1.1 200 OK\r\na: b\nc: d\r\n\r\n"],
  ["a lone carriage return", "HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n"],
  ["a zero byte", "HTTP/1.1 200 OK\r\na: \0\r\n\r\n"],
  ["a length that is none", "HTTP/1.1 200 OK\r\ncontent-length: 1x\r\n\r\na"],
  ["a length below zero", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\na"],
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
  ["a length beside chunks", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["another coding", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n"],
  ["a chunk without a size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\r\n"],
  ["a size that is none", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0x1\r\na\r\n"],
  ["a chunk longer than its size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n"],
  ["a head without an end", `HTTP/1.1 200 OK\r\na: ${"x".repeat(70_000)}`],
  ["a size without an end", `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${"x".repeat(5000)}`],
  ["trailers without an end", `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"a: b\r\n".repeat(2000)}`],
])("refused: %s", (_what, message) => {
  expect(() => whole(message)).toThrow(ProtocolError);
});

test("whatever comes, it is an answer or a refusal", () => {
  const token = fc.constantFrom(
    "HTTP/1.1 200 OK",
    "\r\n",
    "\r",
    "\n",
    ": ",
    "content-length",
    "transfer-encoding",
    "chunked",
    "5",
    "0",
    ";",
    "abcde",
  );
  const message = fc.array(fc.oneof(token, fc.string({ unit: "binary", maxLength: 5 })), { maxLength: 40 });
  fc.assert(
    fc.property(message, places, (tokens, at) => {
      try {
        parse(cut(Buffer.from(tokens.join(""), "latin1"), at));
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
      }
    }),
    { numRuns: 1000 },
  );
});
