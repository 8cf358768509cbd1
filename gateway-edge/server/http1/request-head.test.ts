import { execFile } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { promisify } from "node:util";
import fc from "fast-check";
import { createServer } from "../../../common/node-http.ts";
import { readHead, requestLines } from "./request-head.ts";

const LINES = requestLines(["/v1/chat/completions", "/v1/embeddings"]);
const FIRST = "POST /v1/chat/completions HTTP/1.1";
const USUAL = [FIRST, "Host: a", "Content-Type: application/json", "Authorization: Bearer sk-1", "Content-Length: 2"];
const head = (...lines: readonly string[]) => lines.join("\r\n");

/** What Node's server makes of the same bytes; undefined if it refuses them or waits for more. */
async function byNode(text: string): Promise<Pick<IncomingMessage, "method" | "url" | "headers" | "rawHeaders"> | undefined> {
  seen = undefined;
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.end(Buffer.from(`${text}\r\n\r\n{}`, "latin1"));
  socket.resume();
  await once(socket, "close");
  return seen;
}

let seen: IncomingMessage | undefined;
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    seen ??= request;
    response.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => void server.close());

test("of a head that was read nothing stays in memory but the names of its headers", async () => {
  const program = `
    import { getHeapSnapshot, setFlagsFromString } from "node:v8";
    import { runInNewContext } from "node:vm";
    const { readHead, requestLines } = await import(${JSON.stringify(new URL("./request-head.ts", import.meta.url))});
    const lines = requestLines(["/call"]);
    const key = ["sk", process.pid].join("-canary-");
    const isRead = () => readHead(["POST /call HTTP/1.1", "Host: a", "X-Stainless-Language: js", "Authorization: Bearer " + key, "Content-Length: 2"].join("\\r\\n"), lines) !== undefined;
    const read = isRead();
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
    // The last text that an expression was applied to stays with it.
    /b/.test("abc");
    let snapshot = "";
    for await (const part of getHeapSnapshot()) snapshot += part;
    console.log(JSON.stringify({ read, name: snapshot.includes("X-Stainless-Language"), value: snapshot.includes("Bearer " + key) }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--no-warnings", "-e", program]);
  expect(JSON.parse(stdout)).toEqual({ read: true, name: true, value: false });
}, 30_000);

test("the usual head of a call is read as Node reads it", async () => {
  const lines = [FIRST, "Host: a", "content-type:application/json", "X-Mixed-Case: \t kept as it is\t ", "x-empty:", "Content-Length: 2"];
  const read = readHead(head(...lines), LINES);
  const { url, headers, rawHeaders } = (await byNode(head(...lines))) ?? {};
  expect(read).toEqual({ path: url, headers, rawHeaders, bodyBytes: 2 });
  expect(read?.headers["x-mixed-case"]).toBe("kept as it is");
});

const line = fc.oneof(
  fc.constantFrom(
    ...["Connection: keep-alive", "Connection: Keep-Alive", "connection: close", "Connection: upgrade", "Host: b", "content-length: 2"],
    ...["Content-Length: +2", "Content-Length: 2, 2", "Content-Length : 2", "Transfer-Encoding: chunked", "transfer-encoding: identity"],
    ...["Expect: 100-continue", "Upgrade: h2c", "Cookie: a=1", "cookie: b=2", "Set-Cookie: a", "x-a: caf\u00e9", "x-b: a\0b", "x-c: a\rb"],
    ...[
      "x-d: a\nb",
      " folded",
      "\tfolded",
      "no colon",
      ": no name",
      "__proto__: a",
      "constructor: a",
      "x-y: ",
      "x-z:\t1 ",
      "",
      "TE: trailers",
    ],
  ),
  fc
    .tuple(
      fc.stringMatching(/^[!-~]{1,12}$/),
      fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 12 }),
    )
    .map(([name, value]) => `${name}: ${value}`),
);

test("of any lines, what is read here has the same reading in Node's parser; all else is left to it", async () => {
  let read = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 4 }), fc.nat(4), async (more, at) => {
      const text = head(...USUAL.slice(0, 1 + at), ...more, ...USUAL.slice(1 + at));
      // What follows a first empty line is no longer of the head.
      fc.pre(!text.includes("\r\n\r\n"));
      const own = readHead(text, LINES);
      if (!own) return;
      read++;
      const { method, url, headers, rawHeaders } = (await byNode(text)) ?? {};
      expect({ ...own, method: "POST" }).toEqual({ method, path: url, headers, rawHeaders, bodyBytes: 2 });
    }),
    { numRuns: 600 },
  );
  expect(read).toBeGreaterThan(50);
}, 60_000);

const LEFT: Readonly<Record<string, string>> = {
  "another path": head("POST /v1/chat/completions?a=1 HTTP/1.1", ...USUAL.slice(1)),
  "another method": head("GET /v1/chat/completions HTTP/1.1", ...USUAL.slice(1)),
  "HTTP/1.0": head("POST /v1/chat/completions HTTP/1.0", ...USUAL.slice(1)),
  "an absolute URL": head("POST http://a/v1/chat/completions HTTP/1.1", ...USUAL.slice(1)),
  "two spaces": head("POST  /v1/chat/completions HTTP/1.1", ...USUAL.slice(1)),
  "no host": head(...USUAL.filter((text) => !text.startsWith("Host"))),
  "two hosts": head(...USUAL, "host: b"),
  "no length": head(...USUAL.slice(0, -1)),
  "two lengths": head(...USUAL, "content-length: 2"),
  "a length with a sign": head(...USUAL.slice(0, -1), "Content-Length: +2"),
  "a length of many digits": head(...USUAL.slice(0, -1), "Content-Length: 0000000002"),
  "a length and chunks": head(...USUAL, "Transfer-Encoding: chunked"),
  "a request that ends the connection": head(...USUAL, "Connection: close"),
  "an upgrade": head(...USUAL, "Connection: Upgrade", "Upgrade: websocket"),
  "an expectation": head(...USUAL, "Expect: 100-continue"),
  "a folded line": head(...USUAL.slice(0, 2), " b", ...USUAL.slice(2)),
  "a space before the colon": head(...USUAL, "x-a : 1"),
  "a line feed alone": head(...USUAL, "x-a: 1\nx-b: 2"),
  "a control character": head(...USUAL, "x-a: \x01"),
  "the name of every object's field": head(...USUAL, "constructor: 1"),
  "more headers than Node reads": head(...USUAL, ...Array.from({ length: 60 }, (_, index) => `x-${index}: 1`)),
};

test.each(Object.keys(LEFT))("a head with %s is left to Node", (name) => {
  expect(readHead(head(...USUAL), LINES)).toBeDefined();
  expect(readHead(LEFT[name] as string, LINES)).toBeUndefined();
});

test("names beyond those that are remembered are read, too", () => {
  for (let index = 0; index < 5000; index++) expect(readHead(head(...USUAL, `x-made-${index}: 1`), LINES)).toBeDefined();
  expect(readHead(head(...USUAL, "x-made-4999: 2"), LINES)?.headers["x-made-4999"]).toBe("2");
});
