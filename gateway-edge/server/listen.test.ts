import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import express, { type Response } from "express";
import { type Listener, listen } from "./listen.ts";

let listener: Listener;
beforeAll(async () => {
  listener = await listen(express(), { host: "127.0.0.1", port: 0, reusePort: false, observe: () => {} });
});
afterAll(() => listener.stop());

test("a client that still sends its refused head can read the refusal: the connection is not reset, and is closed a moment later", async () => {
  const socket = connect({ port: listener.port, host: "127.0.0.1", allowHalfOpen: true });
  const errors: unknown[] = [];
  socket.on("error", (error) => errors.push(error));
  socket.write(`GET /?${"A".repeat(100_000)}`);
  const [head] = (await once(socket, "data")) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 431 /);
  expect(head.toString()).toMatch(/\r\nx-request-id: req_\w+\r\nx-gw-call-id: call_\w+\r\n/);
  for (let part = 0; part < 5 && !socket.destroyed; part++) {
    socket.write("A".repeat(100_000));
    await sleep(20);
  }
  expect(errors).toEqual([]);
  // Closed a moment later: what is sent then is reset.
  while (errors.length === 0) {
    socket.write("A");
    await sleep(50);
  }
  socket.destroy();
});

test.each([
  ["GET / HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400 /],
  ["GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", /^HTTP\/1\.1 400 /],
  ["GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n", /^HTTP\/1\.1 400 /],
  ["POST / HTTP/1.1\r\nhost: a\r\nexpect: miracles\r\ncontent-length: 2\r\n\r\n{}", /^HTTP\/1\.1 417 /],
  ["GET http://a/ HTTP/1.1\r\nhost: a\r\n\r\n", /^HTTP\/1\.1 400 /],
])("%j is refused with the usual error and ids", async (request, status) => {
  const socket = connect({ port: listener.port, host: "127.0.0.1" });
  socket.write(request);
  const answer = Buffer.concat(await socket.toArray()).toString();
  expect(answer).toMatch(status);
  expect([answer.includes("\r\nx-request-id: req_"), answer.includes("\r\nx-gw-call-id: call_")]).toEqual([true, true]);
  expect(answer).toContain('{"error":{"message":');
});

test("a request of HTTP/1.0 needs no Host", async () => {
  const socket = connect({ port: listener.port, host: "127.0.0.1" });
  socket.write("GET / HTTP/1.0\r\n\r\n");
  expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 404 /);
});

test("connections that come together are accepted in a few turns of the event loop, not one in a turn", async () => {
  const count = 160;
  const app = express();
  app.get("/", (_request, response) => void response.end("here"));
  const own = await listen(app, { host: "127.0.0.1", port: 0, reusePort: false, observe: () => {} });
  const clients = Array.from({ length: count }, () => connect({ port: own.port, host: "127.0.0.1" }));
  let answered = 0;
  for (const client of clients) {
    client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    client.once("data", () => answered++);
  }
  let turns = 0;
  while (answered < count) {
    await new Promise((resolve) => setImmediate(resolve));
    // A turn that takes long, so that all connections wait from the first one on.
    const untilMs = performance.now() + 20;
    while (performance.now() < untilMs);
    turns++;
  }
  expect(turns).toBeLessThan(count / 2);
  for (const client of clients) client.destroy();
  await own.stop();
});

test("a port on which another server listens is refused, also one that would share it", async () => {
  const place = { host: "127.0.0.1", port: listener.port, reusePort: false, observe: () => {} };
  await expect(listen(express(), place)).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test("a stop closes every connection, whichever socket accepted it", async () => {
  const own = await listen(express(), { host: "127.0.0.1", port: 0, reusePort: false, observe: () => {} });
  const clients = Array.from({ length: 100 }, () => connect({ port: own.port, host: "127.0.0.1" }).on("error", () => {}));
  await Promise.all(clients.map((client) => once(client, "connect")));
  const ended = Promise.all(clients.map((client) => new Promise((resolve) => client.resume().once("close", resolve))));
  await own.stop();
  await ended;
});

test("a stop does not wait for connections on which nothing was asked yet, such as those that browsers open in advance", async () => {
  const own = await listen(express(), { host: "127.0.0.1", port: 0, reusePort: false, observe: () => {} });
  const clients = Array.from({ length: 10 }, () => connect({ port: own.port, host: "127.0.0.1" }).on("error", () => {}));
  await Promise.all(clients.map((client) => once(client, "connect")));
  const ended = Promise.all(clients.map((client) => new Promise((resolve) => client.resume().once("close", resolve))));
  const stopping = performance.now();
  await own.stop({ drainMs: 3_600_000 });
  await ended;
  expect(performance.now() - stopping).toBeLessThan(5_000);
});

test("a stop waits for the responses of every connection, whichever socket accepted it, and cuts those that take too long", async () => {
  // Few, so that the server's own socket has none of them.
  const count = 2;
  const running: Response[] = [];
  const app = express();
  app.get("/", (_request, response) => void running.push(response));
  const own = await listen(app, { host: "127.0.0.1", port: 0, reusePort: false, observe: () => {} });
  const cut = () => {
    for (const response of running) response.end("cut");
  };
  const answers = Array.from({ length: count }, () => fetch(`http://127.0.0.1:${own.port}/`).then((answer) => answer.text()));
  while (running.length < count) await sleep(5);
  await own.stop({ drainMs: 50, cut });
  expect(await Promise.all(answers)).toEqual(Array.from({ length: count }, () => "cut"));
});
