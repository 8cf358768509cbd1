import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { deployment, FakeControl, startEdge, type TestEdge } from "./edge-fixture.ts";

const CHAT = "/v1/chat/completions";
const ANSWER_MS = 2000;

let edge: TestEdge;
let key: string;
let isSlow = true;
/** The bodies that the provider got. */
const seen: Record<string, unknown>[] = [];
const upstream = createServer(async (request, response) => {
  const body = JSON.parse(await text(request)) as Record<string, unknown>;
  seen.push(body);
  if (isSlow) await delay(ANSWER_MS, undefined, { ref: false });
  if (response.destroyed) return;
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const whole = { choices: [{ index: 0, message: { role: "assistant", content: "go" }, finish_reason: "stop" }], usage };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(request.url?.endsWith("embeddings") ? { data: [{ index: 0, embedding: [1] }], usage } : whole));
});

beforeAll(async () => {
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  const control = new FakeControl();
  control.deployments = [deployment({ modelName: "gpt", providerKind: "openai", baseUrl, apiKey: "sk-upstream" })];
  control.balance = 1_000_000_000_000n;
  edge = await startEdge(control);
  key = control.addKey().secret;
});
afterAll(async () => {
  await edge.close();
  upstream.closeAllConnections();
  upstream.close();
});

async function ask(path: string, fields: object) {
  const startedMs = performance.now();
  const model = { model: "gpt", num_retries: 0 };
  const input =
    path === CHAT ? { messages: [{ role: "user", content: "say go" }] } : path.endsWith("completions") ? { prompt: "x" } : { input: "x" };
  const response = await edge.post(path, { ...model, ...input, ...fields }, { authorization: `Bearer ${key}` });
  const { error } = (await response.json()) as { error?: { type: string; code: string | null; param: string | null } };
  return { status: response.status, error, ms: performance.now() - startedMs };
}

const OVER = { status: 408, error: expect.objectContaining({ type: "timeout_error", code: "timeout" }) };

test.each([
  ["a whole chat", CHAT, { timeout: 0.2 }],
  ["a stream without a first token", CHAT, { timeout: 0.2, stream: true }],
  ["a stream with a limit of its own", CHAT, { timeout: 100, stream_timeout: 0.2, stream: true }],
  ["a completion", "/v1/completions", { timeout: 0.2 }],
  ["an embedding", "/v1/embeddings", { timeout: 0.2 }],
  ["a response", "/v1/responses", { timeout: 0.2 }],
])("%s ends with a 408 after the timeout of its request, which the provider does not see", async (_name, path, fields) => {
  isSlow = true;
  seen.length = 0;
  const { ms, ...answer } = await ask(path, fields);
  expect(answer).toEqual(OVER);
  expect(ms).toBeLessThan(ANSWER_MS - 500);
  expect(seen).toHaveLength(1);
  for (const name of ["timeout", "stream_timeout", "num_retries"]) expect(seen[0]).not.toHaveProperty(name);
});

test.each([
  [CHAT, { timeout: -1 }],
  [CHAT, { timeout: 0 }],
  [CHAT, { timeout: "x" }],
  ["/v1/completions", { timeout: -1 }],
  ["/v1/embeddings", { timeout: 0 }],
  ["/v1/responses", { timeout: "x" }],
  ["/v1/moderations", { timeout: -1 }],
])("%s with %j is a 422 that names the field", async (path, fields) => {
  expect(await ask(path, fields)).toMatchObject({ status: 422, error: { param: "timeout" } });
});

test("callers who do not wait do not close the deployment for others", async () => {
  isSlow = true;
  for (let call = 0; call < 5; call++) expect(await ask(CHAT, { timeout: 0.05 })).toMatchObject({ status: 408 });
  isSlow = false;
  expect(await ask(CHAT, { timeout: 1000 })).toMatchObject({ status: 200 });
});
