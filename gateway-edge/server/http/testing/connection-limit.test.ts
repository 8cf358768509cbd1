import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { deployment, FakeControl, parseStream, startEdge, type TestEdge } from "./edge-fixture.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A provider in OpenAI's dialect whose streams begin at once and end when a test says so. */
async function startUpstream() {
  const open: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    const { stream } = JSON.parse(await text(request)) as { stream?: boolean };
    response.setHeader("content-type", stream ? "text/event-stream" : "application/json");
    if (stream) response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "go" }, finish_reason: null }] })}\n\n`);
    open.push(response);
    server.emit("opened");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    open,
    /** Resolves when so many calls were open here at the same time. */
    async reached(count: number): Promise<void> {
      while (open.length < count) await once(server, "opened");
    },
    end(response: ServerResponse | undefined): void {
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const isStream = response?.getHeader("content-type") === "text/event-stream";
      const whole = { choices: [{ index: 0, message: { role: "assistant", content: "go" }, finish_reason: "stop" }], usage };
      const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage };
      response?.end(isStream ? `data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n` : JSON.stringify(whole));
    },
  };
}

async function open({ routerSettings = {}, env = {} }: { routerSettings?: object; env?: Record<string, string> }) {
  const upstream = await startUpstream();
  const control = new FakeControl();
  control.settings = JSON.stringify({ router_settings: routerSettings });
  control.deployments = [deployment({ modelName: "gpt", providerKind: "openai", baseUrl: upstream.url, apiKey: "sk-upstream" })];
  control.balance = 1_000_000_000_000n;
  const edge: TestEdge = await startEdge(control, {}, env);
  closing.push(() => edge.close());
  const { secret } = control.addKey();
  const ask = (stream: boolean) =>
    edge.post(
      "/v1/chat/completions",
      { model: "gpt", stream, messages: [{ role: "user", content: "say go" }] },
      { authorization: `Bearer ${secret}` },
    );
  return { upstream, control, edge, ask };
}

const SILENCE_MS = 250;
const overheadOf = (response: Response) => Number(response.headers.get("x-gw-overhead-duration-ms"));

test("a call above the limit waits; the wait is the gateway's own time, not the upstream's silence", async () => {
  const { upstream, control, edge, ask } = await open({
    routerSettings: { stream_timeout: SILENCE_MS / 1000, num_retries: 0 },
    env: { UPSTREAM_CONNECTIONS_MAX: "2" },
  });
  const first = [ask(true), ask(true)];
  await upstream.reached(2);
  const third = ask(true);
  while (edge.inference.figures().connectionWaits.waiting === 0) await delay(5);
  // Longer than an upstream may be silent before its first token.
  await delay(2 * SILENCE_MS);
  expect([upstream.open.length, edge.inference.figures().connectionWaits.waiting]).toEqual([2, 1]);
  upstream.end(upstream.open[0]);
  await upstream.reached(3);
  for (const response of upstream.open) upstream.end(response);
  const responses = await Promise.all([...first, third]);
  for (const response of responses) expect([response.status, parseStream(await response.text()).length > 0]).toEqual([200, true]);
  expect(overheadOf(await third)).toBeGreaterThanOrEqual(2 * SILENCE_MS);
  expect(Math.max(...(await Promise.all(first)).map(overheadOf))).toBeLessThan(2 * SILENCE_MS);
  const rows = [...control.settled.values()].map(({ overheadUs, status }) => [status, Number(overheadUs) >= 2000 * SILENCE_MS]);
  expect(rows.sort()).toEqual([
    ["success", false],
    ["success", false],
    ["success", true],
  ]);
  const { waits, waitedMs, waiting } = edge.inference.figures().connectionWaits;
  expect([waits, waitedMs >= 2 * SILENCE_MS, waiting]).toEqual([1, true, 0]);
  expect(edge.inference.routing.stateOf("dep_gpt")).toMatchObject({ failed: 0, succeeded: 3 });
});

test("a call that waits as long as a whole call may take gets the error that the gateway is full; the deployment gets no cool-down for it", async () => {
  const { upstream, edge, ask } = await open({
    routerSettings: { timeout: SILENCE_MS / 1000, num_retries: 0, stream_timeout: 60, allowed_fails: 0 },
    env: { UPSTREAM_CONNECTIONS_MAX: "1" },
  });
  const first = ask(true);
  await upstream.reached(1);
  const refused = await ask(false);
  const { error } = (await refused.json()) as { error: { message: string; code: string } };
  expect([refused.status, error.code, error.message]).toEqual([
    503,
    "service_unavailable",
    expect.stringContaining("UPSTREAM_CONNECTIONS_MAX"),
  ]);
  expect(edge.inference.routing.stateOf("dep_gpt")?.availability).toEqual({ state: "closed" });
  upstream.end(upstream.open[0]);
  expect((await first).status).toBe(200);
  const next = ask(false);
  await upstream.reached(2);
  upstream.end(upstream.open[1]);
  expect((await next).status).toBe(200);
});

const AT_ONCE = 500;

test(`${AT_ONCE} streams are open at one upstream at the same time`, async () => {
  const { upstream, edge, ask } = await open({});
  const streams = Array.from({ length: AT_ONCE }, () => ask(true));
  await upstream.reached(AT_ONCE);
  expect(edge.inference.figures().connectionWaits).toEqual({ waiting: 0, waits: 0, waitedMs: 0 });
  for (const response of upstream.open) upstream.end(response);
  for (const response of await Promise.all(streams)) await response.text();
});
