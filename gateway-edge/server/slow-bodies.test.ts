import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import express, { type Express } from "express";
import { ignore } from "../../common/ignore.ts";
import { createServer } from "../../common/node-http.ts";
import { allowSlowBody } from "../../common/slow-body.ts";
import { type FakeClock, fakeClock } from "../access/clock-fixture.ts";
import { readBody } from "../calls/read-body.ts";
import type { EdgeDeps } from "../deps.ts";
import type { ExactRoutes } from "./http/exact-routes.ts";
import { createForward } from "./http/training/forward.ts";
import { trainingBlobs } from "./http/training/training-blobs.ts";
import { type Listener, listen } from "./listen.ts";
import { readForm } from "./uploads/read-form.ts";

let clock: FakeClock;
let listener: Listener;
let node: Server;
let requests: IncomingMessage[];
const clients: Socket[] = [];

beforeAll(async () => {
  node = createServer((request, response) => {
    const answered = text(request).then((body) => response.end(JSON.stringify({ bytes: body.length })));
    void ignore(answered, "the edge has closed the connection");
  });
  await once(node.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  node.closeAllConnections();
  node.close();
});
beforeEach(async () => {
  clock = fakeClock();
  requests = [];
  const app = routes(express());
  const paths = ["/call"];
  const answer: ExactRoutes["answer"] = (request) => {
    if (request.url !== "/call") return false;
    void ignore(Promise.resolve(readBody(request, 1e6)), "the connection is closed before the body has arrived");
    return true;
  };
  const observe = (request: unknown) => void requests.push(request as IncomingMessage);
  listener = await listen(app, { host: "127.0.0.1", port: 0, reusePort: false, observe, exact: { paths, answer }, clock });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await listener.stop();
});

function routes(app: Express): Express {
  const coordinatorUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const forward = createForward({ target: coordinatorUrl, onSend: () => {} });
  const findBlob = async () => ({ organizationId: "org_1" });
  app.use(trainingBlobs({ control: { training: { findBlob } }, config: { coordinatorUrl } } as unknown as EdgeDeps));
  app.post("/json", async (request, response) => void response.end(`read ${(await readBody(request, 1e6)).length}`));
  app.post("/unread", (_request, response) => void response.end("refused"));
  app.post("/never", () => {});
  app.post("/form", async (request, response) => {
    const form = readForm(request, { fileFields: ["file"], filesMax: 1, fileBytesMax: 1e6 });
    try {
      await form.complete;
      response.end("form");
    } finally {
      await form.close();
    }
  });
  app.post("/node", (request, response) => forward(request, response));
  app.post("/echo", (request, response) => {
    allowSlowBody(request);
    response.write("begun");
    request.resume();
  });
  app.post("/held", (request, response) => {
    allowSlowBody(request);
    request.once("data", () => {
      request.pause();
      clock.after(600_000, () => void request.resume().on("end", () => response.end("held")));
    });
  });
  app.use(((_error, _request, response, _next) => void response.destroy()) as express.ErrorRequestHandler);
  return app;
}

const BOUNDARY = "b";
const FORM_START = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n`;
const FORM_END = `\r\n--${BOUNDARY}--\r\n`;

const UPLOAD = `/training/blobs/${"a".repeat(64)}`;
const KEY = `sk-${"k".repeat(30)}`;

const head = (path: string, length: number) =>
  `${path === UPLOAD ? "PUT" : "POST"} ${path} HTTP/1.1\r\nhost: a\r\nx-gw-api-key: ${KEY}\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${length}\r\n\r\n`;

/** Sends bytes, and waits until the edge has them. */
function open() {
  const socket = connect({ port: listener.port, host: "127.0.0.1", noDelay: true });
  clients.push(socket);
  let received = "";
  let isClosed = false;
  socket
    .on("error", () => {})
    .on("close", () => {
      isClosed = true;
    });
  socket.on("data", (bytes: Buffer) => {
    received += bytes.toString();
  });
  return {
    send: async (bytes: string | Buffer) => {
      socket.write(bytes);
      await sleep(20);
    },
    text: () => received,
    isClosed: () => isClosed,
  };
}

async function until(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`waited in vain: ${String(condition)}`);
    await sleep(5);
  }
}

const REFUSED = /^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*connection: close\r\n[\s\S]*"The request did not arrive in time\."/;

test("Node limits the time of heads only: it has one limit for all bodies", async () => {
  const client = open();
  await client.send(`${head("/json", 1)}x`);
  await until(() => client.text().includes("read 1"));
  const [{ socket }] = requests as [IncomingMessage];
  const { server } = socket as unknown as { server: Server };
  expect([server.requestTimeout, server.headersTimeout]).toEqual([0, 10_000]);
});

test.each([
  ["read as a whole", "/json"],
  ["of a route that does not read it", "/never"],
])("a body %s that has not arrived after 60 s is refused, however often bytes come", async (_kind, path) => {
  const client = open();
  await client.send(`${head(path, 100)}x`);
  for (let seconds = 0; seconds < 55; seconds += 5) {
    await clock.advance(5000);
    await client.send("x");
  }
  expect(client.text()).toBe("");
  await clock.advance(5000);
  await until(client.isClosed);
  expect(client.text()).toMatch(REFUSED);
});

test("a call whose body stops arriving is left to Node and refused 60 s later", async () => {
  const client = open();
  await client.send("POST /call HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nx");
  expect(requests).toEqual([]);
  await clock.advance(10_000);
  expect(requests).toHaveLength(1);
  await clock.advance(59_000);
  expect(client.text()).toBe("");
  await clock.advance(1000);
  await until(client.isClosed);
  expect(client.text()).toMatch(REFUSED);
});

test.each([
  ["form", "/form", [FORM_START, FORM_END], "form"],
  ["call to a node", "/node", ["", ""], '{"bytes":30}'],
  ["blob", UPLOAD, ["", ""], '"bytes":30}'],
])("a %s takes as long as it takes while bytes arrive", async (_kind, path, [start = "", end = ""], answered) => {
  const client = open();
  await client.send(head(path, start.length + 30 + end.length) + start);
  for (let bytes = 0; bytes < 30; bytes++) {
    await clock.advance(20_000);
    await client.send("x");
  }
  await client.send(end);
  await until(() => client.text().includes(answered));
  expect(client.text()).toMatch(/^HTTP\/1\.1 200 /);
});

test.each(["/form", "/node", UPLOAD])("a body for %s that pauses for a minute is refused", async (path) => {
  const client = open();
  await client.send(head(path, 1000) + FORM_START);
  await clock.advance(29_000);
  await client.send("x");
  await clock.advance(29_000);
  expect(client.text()).toBe("");
  await clock.advance(31_000);
  await until(client.isClosed);
  expect(client.text()).toMatch(REFUSED);
});

test("no body takes longer than an hour", async () => {
  const client = open();
  await client.send(head(UPLOAD, 1000));
  for (let seconds = 0; seconds < 3580; seconds += 20) {
    await clock.advance(20_000);
    await client.send("x");
  }
  expect(client.text()).toBe("");
  await clock.advance(30_000);
  await until(client.isClosed);
  expect(client.text()).toMatch(REFUSED);
}, 30_000);

test("a body that waits for its reader is not refused: the sender cannot go on", async () => {
  const client = open();
  const body = Buffer.alloc(4 * 1024 * 1024, "x");
  await client.send(head("/held", body.length));
  await client.send(body);
  for (let minutes = 0; minutes < 10; minutes++) await clock.advance(60_000);
  await until(() => client.text().includes("held"));
});

test("a small body that is not read is bounded after its response, too, and closes without a second answer", async () => {
  const client = open();
  await client.send(`${head("/unread", 10)}x`);
  await until(() => client.text().includes("refused"));
  await clock.advance(59_000);
  expect(client.isClosed()).toBe(false);
  await clock.advance(1000);
  await until(client.isClosed);
  expect(client.text()).not.toContain("408");
});

test("where the response has begun, the connection of a body that pauses is closed without another answer", async () => {
  const client = open();
  await client.send(`${head("/echo", 10)}x`);
  await until(() => client.text().includes("begun"));
  await clock.advance(60_000);
  await until(client.isClosed);
  expect(client.text()).not.toContain("408");
});

test("a connection goes on after a body that arrived, without a trace of its limit", async () => {
  const client = open();
  await client.send(`${head("/json", 1)}x`);
  await until(() => client.text().includes("read 1"));
  await clock.advance(50_000);
  await client.send(`${head("/json", 2)}x`);
  await clock.advance(50_000);
  await client.send("x");
  await until(() => client.text().includes("read 2"));
});
