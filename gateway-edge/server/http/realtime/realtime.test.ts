import { readFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { createServer as createTlsServer, type Server } from "node:tls";
import OpenAI from "openai";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { WebSocket } from "ws";
import { AppError } from "../../../../common/errors.ts";
import type { Price } from "../../../../common/pricing.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { type ScriptedResponse, type ScriptedUpstream, startRealtimeUpstream } from "./realtime-upstream-fixture.ts";

/** Nano-USD per million tokens: text 4 and 16 USD, cached 0.4, sound 32 and 64. */
const PRICES: Omit<Price, "tiers" | "unit"> = {
  input: 4_000_000_000n,
  output: 16_000_000_000n,
  cachedInput: 400_000_000n,
  audioInput: 32_000_000_000n,
  audioOutput: 64_000_000_000n,
};

const TEXT_USAGE = { total_tokens: 30, input_tokens: 20, output_tokens: 10, input_token_details: { text_tokens: 20 } };
const SOUND_USAGE = {
  total_tokens: 600,
  input_tokens: 500,
  output_tokens: 100,
  input_token_details: {
    text_tokens: 200,
    audio_tokens: 300,
    cached_tokens: 150,
    cached_tokens_details: { text_tokens: 100, audio_tokens: 50 },
  },
  output_token_details: { text_tokens: 20, audio_tokens: 80 },
};

const edges: TestEdge[] = [];
const upstreams: ScriptedUpstream[] = [];
const sockets: WebSocket[] = [];
const fronts: Server[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  for (const front of fronts.splice(0)) front.close();
  for (const edge of edges.splice(0)) await edge.close();
  for (const upstream of upstreams.splice(0)) await upstream.close();
});

async function open(
  responses: readonly ScriptedResponse[] = [],
  { env = {}, control = new FakeControl() }: { env?: Record<string, string>; control?: FakeControl } = {},
) {
  const upstream = await startRealtimeUpstream(responses);
  upstreams.push(upstream);
  const at = { providerKind: "openai", baseUrl: upstream.url, apiKey: "sk-of-the-provider" };
  control.deployments.push(
    { ...deployment({ modelName: "voice" }, PRICES), ...at, inferenceModelId: "gpt-realtime" },
    { ...deployment({ modelName: "listen" }, { input: 6_000_000_000n, output: 0n }), ...at, inferenceModelId: "gpt-4o-transcribe" },
  );
  const edge = await startEdge(control, {}, env);
  edges.push(edge);
  const { secret, caller } = control.addKey();
  return { upstream, control, edge, secret, caller };
}

interface Received {
  readonly type?: string;
  readonly error?: { readonly type: string; readonly code: string | null; readonly param: string | null; readonly message: string };
}

/** A control plane whose reservations wait for a gate. */
class SlowControl extends FakeControl {
  gate: Promise<void> = Promise.resolve();
  waiting = 0;

  override asControlPlane() {
    const plane = super.asControlPlane();
    const reserveMany: typeof plane.access.reserveMany = async (request, options) => {
      this.waiting++;
      await this.gate;
      this.waiting--;
      return plane.access.reserveMany(request, options);
    };
    return { ...plane, access: { ...plane.access, reserveMany } };
  }
}

/** Revokes a key, and waits until the edge knows. */
async function revoke({ edge, control, secret, caller }: Pick<Awaited<ReturnType<typeof open>>, "edge" | "control" | "secret" | "caller">) {
  for (const [key, known] of control.callers) if (known.keyId === caller.keyId) control.callers.delete(key);
  control.change({ kind: "key", subject: caller.keyId });
  await until(async () => (await fetch(`${edge.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status === 401);
}

/** A client that notes what it receives. */
class Client {
  readonly events: Received[] = [];
  readonly socket: WebSocket;
  readonly closed: Promise<[number, string]>;
  #wake = () => {};

  constructor(
    edge: TestEdge,
    { secret, query = "?model=voice", protocols = [] as string[] }: { secret?: string; query?: string; protocols?: string[] },
  ) {
    const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
    this.socket = new WebSocket(`${edge.url.replace("http", "ws")}/v1/realtime${query}`, protocols, { headers });
    sockets.push(this.socket);
    this.socket.on("error", () => {});
    this.socket.on("message", (data) => {
      this.events.push(JSON.parse(String(data)) as Received);
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      this.socket.once("close", (code, reason) => {
        resolve([code, String(reason)]);
        this.#wake();
      });
    });
  }

  send(type: string, fields: object = {}): void {
    this.socket.send(JSON.stringify({ type, ...fields }));
  }

  /** The next event of a type; fails if the socket closes first. */
  async until(type: string, count = 1): Promise<Received> {
    for (;;) {
      const found = this.events.filter((event) => event.type === type)[count - 1];
      if (found) return found;
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error(`closed before ${type}: ${JSON.stringify(this.events)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** The HTTP answer to a handshake that is refused. */
function refused(
  edge: TestEdge,
  { secret, query = "?model=voice" }: { secret?: string; query?: string },
): Promise<{ status: number; body: Received }> {
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  const socket = new WebSocket(`${edge.url.replace("http", "ws")}/v1/realtime${query}`, { headers });
  sockets.push(socket);
  return new Promise((resolve, reject) => {
    socket.on("error", () => {});
    socket.once("open", () => reject(new Error("the session was opened")));
    socket.once("unexpected-response", (_request, response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += String(chunk);
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Received }));
    });
  });
}

/** The official client always uses TLS. */
async function tlsFront(edge: TestEdge): Promise<{ baseURL: string; certificate: string }> {
  const fixture = (name: string) =>
    readFileSync(new URL(`../../../../trainer-node/operations/__fixtures__/${name}`, import.meta.url), "utf8");
  const certificate = fixture("loopback-certificate.pem");
  const port = Number(new URL(edge.url).port);
  const front = createTlsServer({ key: fixture("loopback-key.pem"), cert: certificate }, (socket) => {
    const behind = connect(port, "127.0.0.1");
    socket.pipe(behind).pipe(socket);
    socket.on("error", () => behind.destroy());
    behind.on("error", () => socket.destroy());
  });
  fronts.push(front);
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  return { baseURL: `https://127.0.0.1:${(front.address() as AddressInfo).port}/v1`, certificate };
}

test("the official client holds a session, each response is billed exactly, and the session is cut when credit ends", async () => {
  const { upstream, control, edge } = await open([
    { text: "Hello.", usage: TEXT_USAGE },
    { audioBytes: 4800, usage: SOUND_USAGE },
  ]);
  // Its calls are reserved one by one, so that the end of credit is seen at once.
  const { secret } = control.addKey({ isLimited: true });
  const { baseURL, certificate } = await tlsFront(edge);
  const client = new OpenAI({ apiKey: secret, baseURL });
  const realtime = new OpenAIRealtimeWS({ model: "voice", options: { ca: certificate } }, client);
  const errors: { type?: string; code?: string | null }[] = [];
  realtime.on("error", (error) => errors.push((error as { error?: object }).error ?? {}));
  const answer = () => new Promise<{ response: { status?: string } }>((resolve) => realtime.once("response.done", resolve as never));
  await new Promise((resolve) => realtime.once("session.created", resolve as never));

  const first = answer();
  realtime.send({ type: "response.create" });
  expect((await first).response.status).toBe("completed");
  // 20 × 4000 + 10 × 16000 nano-USD.
  expect(control.made).toMatchObject([
    { status: "success", cost: 240_000n, endpoint: "/v1/realtime", model: "voice", usage: { input: 20n, output: 10n } },
  ]);

  const second = answer();
  realtime.send({ type: "response.create" });
  await second;
  // 100 text and 250 sound not cached, 150 cached; 20 text and 80 sound out.
  const cost = 100n * 4000n + 250n * 32_000n + 150n * 400n + 20n * 16_000n + 80n * 64_000n;
  expect(control.made.at(-1)).toMatchObject({
    cost,
    usage: { input: 100n, cachedInput: 150n, audio: 330n, audioOutput: 80n, output: 20n, source: "provider" },
  });

  control.balance = 0n;
  const closed = new Promise<number>((resolve) => realtime.socket.once("close", (code: number) => resolve(code)));
  realtime.send({ type: "response.create" });
  expect(await closed).toBe(1008);
  expect(errors).toMatchObject([{ type: "insufficient_quota", code: "QUOTA_EXCEEDED" }]);
  expect(control.made.map(({ status }) => status)).toEqual(["success", "success"]);
  expect(upstream.opened).toMatchObject([
    { url: "/v1/realtime?model=gpt-realtime", headers: { authorization: "Bearer sk-of-the-provider" } },
  ]);
  expect(upstream.received.filter(({ type }) => type === "response.create")).toHaveLength(2);
});

test("a response beyond the credit is cancelled at the provider and billed by its report; the client gets an error event and 1008", async () => {
  const { upstream, control, edge, secret } = await open([{ audioBytes: 2400 * 1000, hangs: true, usage: SOUND_USAGE }]);
  control.balance = 1_000_000n;
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("response.create");
  expect(await client.until("error")).toMatchObject({ error: { type: "insufficient_quota", code: "QUOTA_EXCEEDED" } });
  expect(await client.closed).toEqual([1008, "QUOTA_EXCEEDED"]);
  expect(client.events.map(({ type }) => type)).toEqual(["session.created", "response.created", "error"]);
  await until(() => control.made.length === 1);
  expect(upstream.received.at(-1)).toMatchObject({ type: "response.cancel" });
  expect(control.made).toMatchObject([{ status: "success", errorCode: "QUOTA_EXCEEDED", usage: { source: "provider", audioOutput: 80n } }]);
});

test("a session is opened by the subprotocol of browsers, and the key is not echoed", async () => {
  const { edge, secret } = await open();
  const client = new Client(edge, { protocols: ["realtime", `openai-insecure-api-key.${secret}`] });
  await client.until("session.created");
  expect(client.socket.protocol).toBe("realtime");
});

test("what the caller or its credit does not allow is an HTTP error with a row, before the provider is asked", async () => {
  const { edge, control, upstream, secret } = await open();
  expect(await refused(edge, {})).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } });
  expect(await refused(edge, { secret, query: "" })).toMatchObject({ status: 400, body: { error: { param: "model" } } });
  expect(await refused(edge, { secret, query: "?model=none" })).toMatchObject({
    status: 404,
    body: { error: { code: "model_not_found" } },
  });
  expect(await refused(edge, { secret, query: "?model=echo" })).toMatchObject({ status: 400 });
  expect(await refused(edge, { secret, query: "?model=voice&call_id=x" })).toMatchObject({
    status: 400,
    body: { error: { param: "call_id" } },
  });
  control.balance = 0n;
  expect(await refused(edge, { secret })).toMatchObject({ status: 429, body: { error: { type: "insufficient_quota" } } });
  expect(upstream.opened).toEqual([]);
  await until(() => control.settled.size === 5);
  expect([...control.settled.values()].every(({ status, cost }) => status === "refused" && cost === 0n)).toBe(true);
  const plain = await fetch(`${edge.url}/v1/realtime?model=voice`, { headers: { authorization: `Bearer ${secret}` } });
  expect([plain.status, await plain.text()]).toEqual([400, expect.stringContaining("WebSocket")]);
});

test("a provider that refuses the handshake is an HTTP error, and costs nothing", async () => {
  const { edge, control, upstream, secret } = await open();
  upstream.refusal = { status: 401, body: '{"error":{"message":"bad key"}}' };
  expect(await refused(edge, { secret })).toMatchObject({ status: 503, body: { error: { code: "upstream_unavailable" } } });
  expect(control.made).toMatchObject([{ status: "error", cost: 0n, endpoint: "/v1/realtime" }]);
});

test("a provider that breaks off is an error event for the client, and what it delivered is billed", async () => {
  const { edge, control, secret } = await open([{ audioBytes: 24_000, breaks: true, usage: {} }]);
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("response.create");
  expect(await client.until("error")).toMatchObject({ error: { code: "upstream_unavailable" } });
  expect((await client.closed)[0]).toBe(1011);
  // 24,000 bytes of sound are half a second: 10 tokens.
  await until(() => control.made.length === 1);
  expect(control.made).toMatchObject([{ status: "error", cost: 640_000n, usage: { audioOutput: 10n, source: "estimated" } }]);
});

test("a client that leaves ends its response, which is billed by the provider's report", async () => {
  const { edge, control, secret } = await open([{ text: "So", hangs: true, usage: TEXT_USAGE }]);
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("response.create");
  await client.until("response.output_text.delta");
  client.socket.terminate();
  await until(() => control.made.length === 1);
  expect(control.made).toMatchObject([{ status: "cancelled", cost: 240_000n, usage: { source: "provider" } }]);
});

test("a reservation that arrives when the client has left is settled too", async () => {
  const control = new SlowControl();
  const { edge, upstream } = await open([{ text: "One", usage: TEXT_USAGE }], { control });
  const { secret } = control.addKey({ isLimited: true });
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("response.create");
  await client.until("response.done");
  const gate = Promise.withResolvers<void>();
  control.gate = gate.promise;
  client.send("response.create");
  await until(() => control.waiting === 1);
  client.socket.terminate();
  await until(() => upstream.sockets[0]?.readyState === WebSocket.CLOSED);
  expect(control.made).toHaveLength(1);
  gate.resolve();
  await until(() => control.made.length === 2);
  expect(control.made).toMatchObject([{ status: "success" }, { status: "cancelled", cost: 0n }]);
});

test("a revoked key ends the session with its next event", async () => {
  const { edge, control, upstream, secret, caller } = await open([{ text: "One", usage: TEXT_USAGE }]);
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("response.create");
  await client.until("response.done");
  await revoke({ edge, control, secret, caller });
  client.send("response.create");
  expect(await client.until("error")).toMatchObject({ error: { code: "invalid_api_key" } });
  expect((await client.closed)[0]).toBe(1008);
  expect(upstream.received).toHaveLength(1);
});

test("transcription models are those of the gateway, and each transcript is a row by its own price", async () => {
  const { edge, control, upstream, secret } = await open();
  const client = new Client(edge, { secret });
  await client.until("session.created");
  const update = (model: string) =>
    client.send("session.update", { session: { type: "realtime", audio: { input: { transcription: { model } } } } });
  update("whisper-unknown");
  expect(await client.until("error")).toMatchObject({
    error: { type: "invalid_request_error", message: expect.stringContaining("whisper-unknown") },
  });
  update("listen");
  await client.until("session.updated");
  expect(upstream.received).toMatchObject([{ session: { audio: { input: { transcription: { model: "gpt-4o-transcribe" } } } } }]);
  const usage = { type: "tokens", total_tokens: 110, input_tokens: 100, output_tokens: 10, input_token_details: { audio_tokens: 100 } };
  upstream.sockets[0]?.send(JSON.stringify({ type: "conversation.item.input_audio_transcription.completed", transcript: "Hi", usage }));
  await client.until("conversation.item.input_audio_transcription.completed");
  expect(control.made).toMatchObject([{ model: "listen", cost: 600_000n, status: "success" }]);
  client.send("session.update", { session: { model: "other" } });
  expect(await client.until("error", 2)).toMatchObject({ error: { param: "session.model" } });
});

test("a transcript that was made is billed and reaches its client, also when nothing is left to reserve for it; then the session ends", async () => {
  const { edge, control, upstream, secret } = await open();
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("session.update", { session: { type: "realtime", audio: { input: { transcription: { model: "listen" } } } } });
  await client.until("session.updated");
  control.balance = 0n;
  control.refuseReserve = new AppError("QUOTA_EXCEEDED", "Out of credit.");
  const usage = { type: "tokens", total_tokens: 110, input_tokens: 100, output_tokens: 10, input_token_details: { audio_tokens: 100 } };
  upstream.sockets[0]?.send(JSON.stringify({ type: "conversation.item.input_audio_transcription.completed", transcript: "Hi", usage }));
  await client.until("conversation.item.input_audio_transcription.completed");
  expect(control.made).toMatchObject([{ model: "listen", cost: 600_000n, status: "success" }]);
  // A client that only sends sound never asks for a response, which would be refused.
  expect(await client.until("error")).toMatchObject({ error: { code: "QUOTA_EXCEEDED" } });
  expect(await client.closed).toEqual([1008, "QUOTA_EXCEEDED"]);
});

test("the first transcript after a key was revoked is billed, and ends the session of a client that only sends sound", async () => {
  const { edge, control, upstream, secret, caller } = await open();
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("session.update", { session: { type: "realtime", audio: { input: { transcription: { model: "listen" } } } } });
  await client.until("session.updated");
  await revoke({ edge, control, secret, caller });
  const usage = { type: "tokens", total_tokens: 110, input_tokens: 100, output_tokens: 10, input_token_details: { audio_tokens: 100 } };
  upstream.sockets[0]?.send(JSON.stringify({ type: "conversation.item.input_audio_transcription.completed", transcript: "Hi", usage }));
  await client.until("conversation.item.input_audio_transcription.completed");
  expect(control.made).toMatchObject([{ model: "listen", cost: 600_000n }]);
  expect(await client.until("error")).toMatchObject({ error: { code: "invalid_api_key" } });
  await client.closed;
});

test.each([
  ["sound was committed", "input_audio_buffer.committed"],
  ["a part of it arrived", "conversation.item.input_audio_transcription.delta"],
])("a client that leaves when %s, before its transcript is whole, pays for it", async (_when, type) => {
  const { edge, control, upstream, secret } = await open();
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("session.update", { session: { type: "realtime", audio: { input: { transcription: { model: "listen" } } } } });
  await client.until("session.updated");
  const send = (event: object) => upstream.sockets[0]?.send(JSON.stringify({ item_id: "item_1", ...event }));
  send({ type, delta: "Hi" });
  await client.until(type);
  client.socket.close();
  await client.closed;
  const usage = { type: "tokens", total_tokens: 110, input_tokens: 100, output_tokens: 10, input_token_details: { audio_tokens: 100 } };
  send({ type: "conversation.item.input_audio_transcription.completed", transcript: "Hi", usage });
  await until(() => control.made.some(({ status }) => status === "success"));
  expect(control.made.filter(({ status }) => status === "success")).toMatchObject([{ model: "listen", cost: 600_000n }]);
});

test("a transcript that fails ends the wait for it", async () => {
  const { edge, upstream, secret } = await open();
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.send("session.update", { session: { type: "realtime", audio: { input: { transcription: { model: "listen" } } } } });
  await client.until("session.updated");
  const [socket] = upstream.sockets;
  socket?.send(JSON.stringify({ type: "input_audio_buffer.committed", item_id: "item_1" }));
  await client.until("input_audio_buffer.committed");
  client.socket.close();
  await client.closed;
  const left = new Promise((resolve) => socket?.once("close", resolve));
  expect(socket?.readyState).toBe(WebSocket.OPEN);
  const failedAt = performance.now();
  socket?.send(JSON.stringify({ type: "conversation.item.input_audio_transcription.failed", item_id: "item_1" }));
  await left;
  expect(performance.now() - failedAt).toBeLessThan(2000);
});

test("idle sessions and sessions that are too long end with an error event and 1008", async () => {
  for (const env of [{ REALTIME_IDLE_MS: "150" }, { REALTIME_SESSION_MS: "150" }] as Record<string, string>[]) {
    const { edge, secret } = await open([], { env });
    const client = new Client(edge, { secret });
    await client.until("session.created");
    expect((await client.closed)[0]).toBe(1008);
    expect(client.events.at(-1)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
  }
});

test("a stopping edge lets a response finish and then ends the session with 1001; one that takes too long is cut", async () => {
  const { edge, control, secret, upstream } = await open([
    { text: "So", hangs: true, usage: TEXT_USAGE },
    { text: "So", hangs: true, usage: TEXT_USAGE },
  ]);
  const clients = [new Client(edge, { secret }), new Client(edge, { secret }), new Client(edge, { secret })];
  for (const client of clients) await client.until("session.created");
  for (const client of clients.slice(1)) {
    client.send("response.create");
    await client.until("response.output_text.delta");
  }
  edge.openCalls.stop();
  expect(await clients[0]?.closed).toEqual([1001, "UNAVAILABLE"]);
  expect(clients[1]?.socket.readyState).toBe(WebSocket.OPEN);
  clients[1]?.send("response.cancel");
  expect((await clients[1]?.closed)?.[0]).toBe(1001);
  expect(clients[1]?.events.map(({ type }) => type).slice(-2)).toEqual(["response.done", "error"]);
  edge.openCalls.cut();
  expect((await clients[2]?.closed)?.[0]).toBe(1001);
  await until(() => control.made.length === 3);
  expect(control.made.map(({ status }) => status).toSorted()).toEqual(["cancelled", "error", "error"]);
  expect(upstream.sockets).toHaveLength(3);
});

test("a client that reads nothing stops the provider from being read: the gateway holds a bounded number of bytes", async () => {
  const { edge, upstream, secret } = await open();
  const client = new Client(edge, { secret });
  await client.until("session.created");
  client.socket.pause();
  const socket = upstream.sockets[0] as WebSocket;
  const chunk = JSON.stringify({ type: "x", data: "a".repeat(1024 * 1024) });
  // Far more than all buffers of the two connections together. They are full when nothing moves any more.
  for (let sent = 0; sent < 64; sent++) socket.send(chunk);
  await until(async () => {
    const before = socket.bufferedAmount;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return socket.bufferedAmount === before;
  });
  expect(socket.bufferedAmount).toBeGreaterThan(32 * 1024 * 1024);
  client.socket.resume();
  await client.until("x", 64);
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
}
