import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { boundUnreadBody } from "./unread-body.ts";

let server: Server;
let taken: Socket[] = [];
let answer: RequestListener;
beforeAll(async () => {
  server = createServer((request, response) => {
    taken.push(request.socket);
    boundUnreadBody(request, response);
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  taken = [];
  answer = (_request, response) => response.writeHead(401).end("no");
});

const open = () => connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});

/** Sends headers and as much of a body as the server accepts; resolves when the connection is closed. */
async function flood(head: string, pieceOf: (bytes: Buffer) => Buffer[] = (bytes) => [bytes]) {
  const socket = open();
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  const begunMs = performance.now();
  socket.write(head);
  const piece = Buffer.alloc(64 * 1024, "x");
  const send = () => {
    while (!socket.destroyed && pieceOf(piece).every((part) => socket.write(part)));
  };
  socket.on("drain", send);
  send();
  // events.once would reject on a reset, which is an expected end here.
  await new Promise((resolve) => socket.once("close", resolve));
  return { text, tookMs: performance.now() - begunMs, readBytes: taken[0]?.bytesRead ?? 0 };
}

const ANNOUNCED = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n";
const CHUNKED = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
const asChunk = (bytes: Buffer) => [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")];

test.each([
  ["announced", ANNOUNCED, undefined],
  ["chunked", CHUNKED, asChunk],
] as const)(
  "of a %s body that is not read little is taken, and the connection is closed after the answer",
  async (_kind, head, pieceOf) => {
    const { text, tookMs, readBytes } = await flood(head, pieceOf);
    expect(text).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close\r\n[\s\S]*no/i);
    expect(readBytes).toBeLessThan(512 * 1024);
    expect(tookMs).toBeLessThan(3000);
  },
);

test("the same where a part of the body was read before the refusal", async () => {
  answer = (request, response) => {
    request.once("data", () => {
      request.pause();
      response.writeHead(413).end("too large");
    });
  };
  const { text, readBytes } = await flood(ANNOUNCED);
  expect(text).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i);
  expect(readBytes).toBeLessThan(512 * 1024);
});

async function answersOn(socket: Socket, requests: readonly string[]): Promise<string[]> {
  const answers: string[] = [];
  for (const request of requests) {
    socket.write(request);
    const [chunk] = await once(socket, "data");
    answers.push(String(chunk));
  }
  socket.destroy();
  return answers;
}

const small = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello`;

test("a small body that is not read keeps the connection, and so does a large one that is", async () => {
  const refused = await answersOn(open(), [small, small]);
  expect(refused.map((text) => [text.slice(9, 12), /connection: keep-alive/i.test(text)])).toEqual([
    ["401", true],
    ["401", true],
  ]);
  answer = (request, response) => void request.resume().on("end", () => response.end("read"));
  const body = "y".repeat(300_000);
  const large = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const read = await answersOn(open(), [large, small]);
  expect(read.map((text) => [text.slice(9, 12), /connection: keep-alive/i.test(text)])).toEqual([
    ["200", true],
    ["200", true],
  ]);
});
