import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import express from "express";
import fc from "fast-check";
import { type HeaderList, nameAt } from "../calls/header-list.ts";
import { writeKnownHead } from "./answer-head.ts";
import { ownObjects, setEarly } from "./own-objects.ts";

interface Answer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly early: HeaderList;
  readonly body: string;
}

let answer: Answer;
const servers: Server[] = [];
let [own, nodes] = [0, 0];

beforeAll(async () => {
  const answered = (response: ServerResponse, write: () => void) => {
    try {
      write();
      response.end(answer.body);
    } catch (error) {
      response.socket?.end(`refused: ${String((error as { code?: string }).code)}`);
    }
  };
  servers.push(
    createServer({ ...ownObjects(express()), keepAliveTimeout: 65_000 }, (request, response) => {
      for (let at = 0; at < answer.early.length; at += 2) setEarly(response, answer.early[at] as string, answer.early[at + 1] as string);
      request.resume().on("end", () => answered(response, () => response.writeHead(answer.status, answer.headers as string[])));
    }),
    createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
      const { early, headers } = answer;
      const added = early.flatMap((name, at) => (at % 2 === 0 && nameAt(headers, name) < 0 ? [name, early[at + 1] as string] : []));
      request.resume().on("end", () => answered(response, () => response.writeHead(answer.status, [...headers, ...added])));
    }),
  );
  for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
  [own, nodes] = servers.map((server) => (server.address() as AddressInfo).port) as [number, number];
});
afterAll(() => servers.forEach((server) => void server.close()));

/** The bytes of an answer up to the end of its connection; the date is not compared. */
async function bytesFrom(port: number, request: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(request);
  let text = "";
  socket.on("data", (data: Buffer) => {
    text += data.toString("latin1");
  });
  // The last request ends the connection, so that an answer of any length is read to its end.
  if (!/1\.0\r\nhost|close/.test(request)) socket.write("GET /end HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  await once(socket, "close");
  return text.replaceAll(/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r$/gm, "Date: now\r");
}

const POST = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}";
const value = fc.oneof(
  fc.constantFrom("", "1", "a\tb", "a\r\nx-evil: 1", "caf\u00e9", "\u20ac", "\0", "application/json; charset=utf-8"),
  fc.string({ maxLength: 20 }),
);
const pairs = (names: readonly string[]) =>
  fc.uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name, maxLength: 6 }).map((entries) => entries.flat());
const NAMES = ["x-a", "x-b", "x-gw-call-id", "x-request-id", "content-type"];

test("an answer has the bytes that Node would send, for any headers", async () => {
  const any = fc.record({
    status: fc.constantFrom(200, 200, 200, 201, 404, 503),
    headers: pairs([...NAMES, "vary", "date", "content-disposition"]),
    early: pairs(NAMES),
    body: fc.constantFrom("{}", "caf\u00e9", "x".repeat(70_000)),
    isCounted: fc.constantFrom(true, true, false),
  });
  await fc.assert(
    fc.asyncProperty(any, async ({ headers, isCounted, ...rest }) => {
      answer = { ...rest, headers: isCounted ? [...headers, "content-length", String(Buffer.byteLength(rest.body))] : headers };
      expect(await bytesFrom(own, POST)).toBe(await bytesFrom(nodes, POST));
    }),
    { numRuns: 150 },
  );
}, 60_000);

const REQUESTS: Readonly<Record<string, string>> = {
  "HTTP/1.0": POST.replace("1.1", "1.0"),
  "HTTP/1.0 that stays open": POST.replace("1.1", "1.0").replace("host", "connection: keep-alive\r\nhost"),
  "a request that ends its connection": POST.replace("host", "connection: close\r\nhost"),
  "a request that expects to be asked for its body": POST.replace("host", "expect: 100-continue\r\nhost"),
  HEAD: "HEAD / HTTP/1.1\r\nhost: a\r\n\r\n",
  GET: "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
  "two requests at once": POST + POST,
};

test.each(Object.keys(REQUESTS))("an answer to %s has the bytes that Node would send", async (name) => {
  answer = { status: 200, headers: ["x-a", "1", "content-length", "2"], early: ["x-b", "2"], body: "{}" };
  const request = REQUESTS[name] as string;
  const bytes = await bytesFrom(own, request);
  expect(bytes).toBe(await bytesFrom(nodes, request));
  expect(bytes).toMatch(/x-a: 1\r\n/);
});

test("the usual answer of a call takes this way, and leaves to Node what it has to decide", () => {
  const response = (change: Partial<ServerResponse> = {}, request: object = {}) => {
    const usual = { method: "POST", httpVersion: "1.1", httpVersionMajor: 1, httpVersionMinor: 1, headers: {}, ...request };
    return Object.assign(new ServerResponse(usual as IncomingMessage), change);
  };
  const usual = ["x-a", "1", "content-length", "2"];
  const written = response();
  expect([writeKnownHead(written, 200, usual, []), written.headersSent, written.statusCode]).toEqual([true, true, 200]);
  const withOwn = response();
  withOwn.setHeader("connection", "close");
  const left: [ServerResponse, number, HeaderList][] = [
    [written, 200, usual],
    [withOwn, 200, usual],
    [response(), 404, usual],
    [response(), 200, ["x-a", "1"]],
    [response(), 200, ["connection", "close", ...usual]],
    [response(), 200, ["x-b", "a\r\nx-evil: 1", ...usual]],
    [response({ shouldKeepAlive: false }), 200, usual],
    [response({}, { method: "GET" }), 200, usual],
    [response({}, { headers: { expect: "100-continue" } }), 200, usual],
    [response({ _header: undefined } as Partial<ServerResponse>), 200, usual],
  ];
  expect(left.map(([each, status, headers]) => writeKnownHead(each, status, headers, []))).toEqual(left.map(() => false));
});
