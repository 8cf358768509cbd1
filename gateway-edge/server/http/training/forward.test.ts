import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createForward } from "./forward.ts";

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that forwards to `target` and records why a request failed. */
const doorTo = (target: string) => {
  const forward = createForward({ target, onSend: (sent) => sent.setHeader("authorization", "ours") });
  return listen((request, response) => {
    forward(request, response).catch((error: Error) => response.writeHead(503).end(error.message));
  });
};

test("a request goes on with the headers we chose, and its answer comes back", async () => {
  const target = await listen((request, response) => response.end(`${request.method} ${request.url} ${request.headers.authorization}`));
  const answer = await fetch(`${await doorTo(target)}/a?b=c`, { method: "POST", body: "x", headers: { authorization: "theirs" } });
  expect([answer.status, await answer.text()]).toEqual([200, "POST /a?b=c ours"]);
});

test("a request with Expect: 100-continue goes on with the headers we chose, too", async () => {
  const target = await listen((request, response) => response.end(`${request.headers.authorization} ${request.headers.expect}`));
  const sent = request(await doorTo(target), { method: "POST", headers: { expect: "100-continue", authorization: "theirs" } });
  sent.once("continue", () => sent.end("x")).flushHeaders();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  expect(await text(answer)).toBe("ours undefined");
});

test("an unreachable target rejects the forward once, with the reason", async () => {
  const answer = await fetch(await doorTo("http://127.0.0.1:9"));
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("ECONNREFUSED")]);
});

test("an answer that breaks off breaks off for the client too", async () => {
  const target = await listen((_request, response) => {
    response.writeHead(200, { "content-length": "10" });
    response.write("half");
    setTimeout(() => response.destroy(), 20);
  });
  const answer = await fetch(await doorTo(target));
  await expect(answer.text()).rejects.toThrow();
});
