import { once } from "node:events";
import type { Server, ServerResponse } from "node:http";
import { connect } from "node:net";
import fc from "fast-check";
import { createServer } from "../../../../common/node-http.ts";
import { StreamedBody } from "./streamed-body.ts";

type Part = string | Uint8Array;
type Answer = (response: ServerResponse) => void;

let answer: Answer = () => {};
let server: Server;
beforeAll(async () => {
  server = createServer((_request, response) => answer(response));
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  server.close();
});

/** All bytes that the server sends for requests on one connection, but for its dates. */
async function sentFor(request: string, answering: Answer): Promise<string> {
  answer = answering;
  const socket = connect((server.address() as { port: number }).port, "127.0.0.1");
  socket.write(request);
  const bytes: Buffer[] = [];
  for await (const read of socket) bytes.push(read as Buffer);
  return Buffer.concat(bytes)
    .toString("latin1")
    .replaceAll(/Date: .*\r\n/g, "");
}

const request = (version: string, more = "") => `POST / HTTP/${version}\r\nhost: here\r\ncontent-length: 0\r\n${more}\r\n`;
const CLOSING = request("1.1", "connection: close\r\n");

const byNode =
  (parts: readonly Part[], last: Part): Answer =>
  (response) => {
    response.writeHead(200, ["content-type", "text/event-stream"]);
    for (const part of parts) response.write(part);
    response.end(last);
  };

const byUs =
  (parts: readonly Part[], last: Part): Answer =>
  (response) => {
    const body = new StreamedBody(response);
    response.writeHead(200, ["content-type", "text/event-stream"]);
    body.begin();
    for (const part of parts) body.write(part);
    body.end(last);
  };

/** Also empty ones, ones in several bytes a character, and halves of a character. */
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("a", "é", "日", "🙂", "\ud83d", "\ude42", "\r\n", "0") }),
);
const part = fc.oneof(text, fc.uint8Array({ maxLength: 40 }));

test.each([
  ["1.1", CLOSING],
  ["1.1, twice on one connection", request("1.1") + CLOSING],
  ["1.0", request("1.0")],
])("a client of HTTP/%s gets the bytes that Node would send", async (_version, asked) => {
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 6 }), part, async (parts, last) => {
      expect(await sentFor(asked, byUs(parts, last))).toBe(await sentFor(asked, byNode(parts, last)));
    }),
    { numRuns: 50 },
  );
});

test("a part of no bytes does not end the stream", async () => {
  const sent = await sentFor(CLOSING, byUs(["", new Uint8Array(), "after"], ""));
  expect(sent.endsWith("\r\n\r\n5\r\nafter\r\n0\r\n\r\n")).toBe(true);
});
