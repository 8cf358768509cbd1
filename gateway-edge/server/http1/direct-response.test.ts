import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import express from "express";
import fc from "fast-check";
import { createServer } from "../../../common/node-http.ts";
import { type HeaderList, nameAt } from "../../calls/header-list.ts";
import type { CallResponse } from "../../calls/http-exchange.ts";
import { StreamedBody } from "../http/calls/streamed-body.ts";
import { type Listener, listen } from "../listen.ts";
import { setEarly } from "../own-objects.ts";

interface Answer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly early: HeaderList;
  /** Several: the body is streamed. */
  readonly parts: readonly (string | Uint8Array)[];
}

let answer: Answer;
let own: Listener;
let nodes: Server;

beforeAll(async () => {
  const answering = (response: CallResponse) => {
    const { status, headers, early, parts } = answer;
    for (let at = 0; at < early.length; at += 2) setEarly(response, early[at] as string, early[at + 1] as string);
    refusable(response, () => {
      response.writeHead(status, [...headers]);
      const [first = ""] = parts;
      if (nameAt(headers, "content-length") >= 0) return void response.end(first);
      const body = new StreamedBody(response);
      body.begin();
      for (const part of parts.slice(0, -1)) body.write(part);
      body.end(parts.at(-1) ?? "");
    });
    return true;
  };
  const place = { host: "127.0.0.1", port: 0, reusePort: false, observe: () => {} };
  const app = express();
  app.disable("x-powered-by");
  app.use((_request, response) => void answering(response));
  own = await listen(app, { ...place, exact: { paths: ["/"], answer: (_request, response) => answering(response) } });
  nodes = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    const { status, headers, early, parts } = answer;
    const added = early.flatMap((name, at) => (at % 2 === 0 && nameAt(headers, name) < 0 ? [name, early[at + 1] as string] : []));
    request.resume().on("end", () =>
      refusable(response, () => {
        response.writeHead(status, [...headers, ...added]);
        for (const part of parts.slice(0, -1)) response.write(part);
        response.end(parts.at(-1) ?? "");
      }),
    );
  });
  await once(nodes.listen(0, "127.0.0.1"), "listening");
});
afterAll(async () => {
  await own.stop();
  nodes.close();
});

function refusable(response: Pick<CallResponse, "headersSent" | "destroy"> & { socket: unknown }, write: () => void): void {
  try {
    write();
  } catch (error) {
    const socket = response.socket as { end(text: string): void } | null;
    socket?.end(`refused: ${String((error as { code?: string }).code)}`);
  }
}

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

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const POST = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}";
const value = fc.oneof(
  fc.constantFrom("", "1", "a\tb", "a\r\nx-evil: 1", "\u20ac", "\0", "application/json; charset=utf-8"),
  fc.string({ maxLength: 20 }).filter((text) => !/[\x80-\xff]/.test(text)),
);
const pairs = (names: readonly string[]) =>
  fc.uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name, maxLength: 6 }).map((entries) => entries.flat());
const NAMES = ["x-a", "x-b", "x-gw-call-id", "x-request-id", "content-type"];

test("an answer has the bytes that Node would send, for any headers and bodies", async () => {
  const part = fc.oneof(fc.string({ minLength: 1 }), fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.constant("caf\u00e9 \ud83d\ude42"));
  const any = fc.record({
    status: fc.constantFrom(200, 200, 201, 404, 503),
    headers: pairs([...NAMES, "vary", "retry-after", "content-disposition"]),
    early: pairs(NAMES),
    parts: fc.oneof(
      fc.constantFrom(["{}"], ["caf\u00e9"], ["x".repeat(70_000)], [Buffer.from("caf\u00e9")], [""]),
      fc.array(part, { minLength: 1, maxLength: 4 }),
    ),
    isCounted: fc.constantFrom(true, true, false),
  });
  await fc.assert(
    fc.asyncProperty(any, async ({ headers, isCounted, parts, ...rest }) => {
      const [first = ""] = parts;
      const counted = [...headers, "content-length", String(Buffer.byteLength(first))];
      answer = isCounted ? { ...rest, headers: counted, parts: [first] } : { ...rest, headers, parts };
      expect(await bytesFrom(own.port, POST)).toBe(await bytesFrom(portOf(nodes), POST));
    }),
    { numRuns: 150 },
  );
}, 60_000);

test("a header above ASCII is sent as Latin-1, whatever the body", async () => {
  for (const parts of [["caf\u00e9"], [""], [Buffer.from("a")], ["one", "two"]]) {
    answer = { status: 200, headers: ["x-a", "caf\u00e9"], early: [], parts };
    expect(await bytesFrom(own.port, POST)).toContain("x-a: caf\u00e9\r\n");
  }
});

const REQUESTS: Readonly<Record<string, string>> = {
  "HTTP/1.0": POST.replace("1.1", "1.0"),
  "HTTP/1.0 that stays open": POST.replace("1.1", "1.0").replace("host", "connection: keep-alive\r\nhost"),
  "a request that ends its connection": POST.replace("host", "connection: close\r\nhost"),
  "a request that expects to be asked for its body": POST.replace("host", "expect: 100-continue\r\nhost"),
  HEAD: "HEAD / HTTP/1.1\r\nhost: a\r\n\r\n",
  GET: "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
  "two requests at once": POST + POST,
  "a call and then another request": `${POST}GET / HTTP/1.1\r\nhost: a\r\n\r\n`,
};
const ANSWERS: Readonly<Record<string, Answer>> = {
  "a known length": { status: 200, headers: ["x-a", "1", "content-length", "2"], early: ["x-b", "2"], parts: ["{}"] },
  "an unknown length": { status: 200, headers: ["x-a", "1"], early: ["x-b", "2"], parts: ["one", "two"] },
  "no body": { status: 204, headers: ["x-a", "1"], early: [], parts: [] },
  "an end of the connection": {
    status: 413,
    headers: ["x-a", "1", "connection", "close", "content-length", "2"],
    early: [],
    parts: ["{}"],
  },
};

test.each(Object.keys(REQUESTS).flatMap((request) => Object.keys(ANSWERS).map((answered) => [request, answered] as const)))(
  "to %s, an answer with %s has the bytes that Node would send",
  async (request, answered) => {
    answer = ANSWERS[answered] as Answer;
    const bytes = await bytesFrom(own.port, REQUESTS[request] as string);
    expect(bytes).toBe(await bytesFrom(portOf(nodes), REQUESTS[request] as string));
    expect(bytes).toMatch(/x-a: 1\r\n/);
  },
);
