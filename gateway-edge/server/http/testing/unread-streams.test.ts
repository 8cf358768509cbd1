import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { queuedBytes } from "../calls/sse-writer.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

const KIBIBYTE = 1024;
const HELD_BYTES_MAX = 256 * KIBIBYTE;
/** Long words, because counting the tokens of a flood takes longer than anything else here. */
const WORDS = " responsibilities".repeat(60);
const STALL_MS = 1500;

let edge: TestEdge | undefined;
let upstream: Server | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await edge?.close();
  upstream?.close().closeAllConnections();
});

/** An upstream that writes events as long as its reader takes them. */
async function startFlood(): Promise<{ url: string; seen: { written: number; closed: number } }> {
  const seen = { written: 0, closed: 0 };
  const events = (text: string) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })}\n\n`;
  const block = events(WORDS).repeat(40);
  const flood = async (response: ServerResponse) => {
    const closed = once(response, "close");
    while (!response.destroyed) {
      seen.written += block.length;
      if (!response.write(block)) await Promise.race([once(response, "drain"), closed]);
      else await new Promise(setImmediate);
    }
    seen.closed++;
  };
  upstream = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    void flood(response);
  }).listen(0, "127.0.0.1");
  await once(upstream, "listening");
  return { url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`, seen };
}

/** A client that sends a call and never reads its answer. */
async function neverRead({ url, secret }: { url: string; secret: string }): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket.on("error", () => {}).pause());
  await once(socket, "connect");
  const body = JSON.stringify({ model: "long", stream: true, max_tokens: 2_000_000_000, messages: [{ role: "user", content: "go" }] });
  const head = [`POST /v1/chat/completions HTTP/1.1`, `host: ${hostname}`, `authorization: Bearer ${secret}`];
  socket.write(`${[...head, "content-type: application/json", `content-length: ${body.length}`].join("\r\n")}\r\n\r\n${body}`);
  return socket;
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + 30_000;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`not within 30 s: ${what}`);
    await sleep(20);
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

test.each([
  ["http1", 6],
  ["undici", 3],
])(
  "%s: %i clients that read nothing of a flood cost at most 256 KiB each, are cut in time, and pay for what left the gateway",
  async (transport, clients) => {
    // Prepare.
    const { url: baseUrl, seen } = await startFlood();
    const control = new FakeControl();
    control.deployments = [
      deployment({ modelName: "long", providerKind: "openai", inferenceModelId: "long-x", baseUrl, apiKey: "up", params: "{}" }),
    ];
    control.balance = 10n ** 18n;
    edge = await startEdge(control, {}, { UPSTREAM_TRANSPORT: transport, STREAM_STALL_MS: String(STALL_MS) });
    const { secret } = control.addKey();
    const { inference, url } = edge;
    const held = () => ({ upstream: inference.figures().upstreamBytesHeld, client: queuedBytes() });
    // Execute: until all are stalled, the most that is held at any look counts.
    await Promise.all(Array.from({ length: clients }, () => neverRead({ url, secret })));
    let most = 0;
    let unsent: number[] = [];
    const look = () => {
      const now = held();
      most = Math.max(most, (sum(now.upstream) + sum(now.client)) / clients);
      if (now.client.length === clients) unsent = now.client;
      return control.settled.size;
    };
    await until(() => look() > 0, "the first client is cut");
    await until(() => look() === clients && seen.closed === clients, "every client is cut, and every upstream's answer ended");
    // Assert.
    expect(most).toBeGreaterThan(KIBIBYTE);
    expect(most).toBeLessThanOrEqual(HELD_BYTES_MAX);
    expect(Math.max(...unsent)).toBeLessThanOrEqual(HELD_BYTES_MAX / 2);
    expect(queuedBytes()).toEqual([]);
    const logs = [...control.settled.values()];
    expect(new Set(logs.map(({ status }) => status))).toEqual(new Set(["cancelled"]));
    for (const { usage } of logs) expect(Number(usage?.output)).toBeGreaterThan(0);
  },
  90_000,
);
