import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Answer, call } from "../helpers/api.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "../helpers/otlp-receiver.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";

/** `make traces` makes 1,000. */
const CALLS = Number(process.env["TRACED_CALLS"] ?? 50);
const AT_ONCE = 10;
const PROMPT = "canary-prompt-that-no-trace-may-have";
const ANSWER = "canary-answer-that-no-trace-may-have";
const [SERVER, CLIENT, CONSUMER] = [2, 3, 5];

let folder: string;
let upstream: Server;
let receiver: OtlpReceiver;
let system: System;
/** Headers that the upstream got, by `x-request-id`. */
const asked = new Map<string, IncomingHttpHeaders[]>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tributary-traces-"));
  receiver = await startOtlpReceiver();
  upstream = createServer(answer);
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const file = join(folder, "config.yaml");
  writeFileSync(file, configText(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`));
  const env = { CONFIG: file, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20canary" };
  system = await startSystem({ env });
});

afterAll(async () => {
  await system.stop();
  upstream.closeAllConnections();
  upstream.close();
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("every call is one trace: the edge's span, one for the provider, one for the settlement, with the right attributes", async () => {
  const answers = await inParallel(CALLS, AT_ONCE, (index) => chat("plain", { stream: index % 2 === 0 }));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  await tracesOf(answers, 3);
  const traces = new Set(answers.map((one) => traceOf(one)[0]?.traceId)).size;
  expect(traces).toBe(CALLS);
  const spansPerCall = answers.map((one) =>
    traceOf(one)
      .map(({ kind }) => kind)
      .toSorted(),
  );
  expect(spansPerCall).toEqual(answers.map(() => [SERVER, CLIENT, CONSUMER]));
  for (const [index, one] of answers.entries()) expectWhole(one, { stream: index % 2 === 0 });
  process.stdout.write(
    `${CALLS} calls: ${traces} traces with the right spans and attributes, ${receiver.spans.length} spans in ${receiver.headers.length} exports\n`,
  );
  expect(receiver.headers.every(({ authorization }) => authorization === "Bearer canary")).toBe(true);
}, 180_000);

test("a caller's traceparent is continued and sent on, its sampled flag is followed, and an invalid one is not", async () => {
  const [traceId, unsampled, spanId] = [randomBytes(16).toString("hex"), randomBytes(16).toString("hex"), "00f067aa0ba902b7"];
  const joined = await chat("plain", { traceparent: `00-${traceId}-${spanId}-01` });
  const quiet = await chat("plain", { traceparent: `00-${unsampled}-${spanId}-00` });
  const broken = await chat("plain", { traceparent: `00-${"0".repeat(32)}-${spanId}-01` });
  await tracesOf([joined, broken], 3);
  expect(traceOf(joined).map((span) => span.traceId)).toEqual([traceId, traceId, traceId]);
  expect(rootOf(joined)?.parentSpanId).toBe(spanId);
  expect(rootOf(broken)).toMatchObject({ parentSpanId: "", traceId: expect.not.stringMatching(/^0+$/) });
  // The calls around it have arrived.
  expect(receiver.spans.filter((span) => span.traceId === unsampled)).toEqual([]);
  expect(headersOf(quiet)[0]?.["traceparent"]).toMatch(new RegExp(`^00-${unsampled}-(?!${spanId})[0-9a-f]{16}-00$`));
});

test("every attempt has its own span with its outcome, and only the one that answers has usage and cost", async () => {
  const one = await chat("failing", { fallbacks: ["plain"] });
  expect(one.status).toBe(200);
  await tracesOf([one], 4);
  const attempts = traceOf(one)
    .filter(({ kind }) => kind === CLIENT)
    .toSorted((left, right) => left.startMs - right.startMs);
  expect(attempts.map(({ isError, attributes }) => [isError, attributes["error.type"], attributes["tributary.attempt"]])).toEqual([
    [true, "UPSTREAM_UNAVAILABLE", 1],
    [false, undefined, 2],
  ]);
  expect(attempts.map(({ attributes }) => [attributes["http.response.status_code"], attributes["gen_ai.usage.input_tokens"]])).toEqual([
    [500, undefined],
    [undefined, 11],
  ]);
  expect(headersOf(one).map(({ traceparent }) => traceparent)).toEqual(attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
  const failed = await chat("failing", {});
  await tracesOf([failed], 3);
  expect(rootOf(failed)).toMatchObject({
    isError: true,
    attributes: { "http.response.status_code": failed.status, "tributary.status": "error" },
  });
  const refused = await call(system.url, "POST", "/v1/chat/completions", { key: "sk-nobody", body: { model: "plain", messages: [] } });
  await tracesOf([refused], 1);
  expect(rootOf(refused)).toMatchObject({ isError: false, attributes: { "http.response.status_code": 401 } });
});

test("a call of a provider's own API is one trace, too", async () => {
  const one = await call(system.url, "POST", "/openai/v1/chat/completions", {
    headers: {
      authorization: `Bearer ${MASTER_KEY}`,
      "x-request-id": "passed-1",
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
    },
    body: { model: "provider-model", messages: [{ role: "user", content: PROMPT }] },
  });
  expect([one.status, one.text]).toEqual([200, expect.stringContaining(ANSWER)]);
  await tracesOf([one], 3);
  const attempt = traceOf(one).find(({ kind }) => kind === CLIENT);
  expect(attempt).toMatchObject({
    name: "pass_through provider-model",
    traceId: "a".repeat(32),
    attributes: { "gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": 7, "tributary.cost_nano_usd": COST_NANO_USD },
  });
  expect(headersOf(one).map(({ traceparent }) => traceparent)).toEqual([`00-${attempt?.traceId}-${attempt?.spanId}-01`]);
});

test("no export has a prompt, an answer or a key, and the spans are counted", async () => {
  const sent = receiver.text();
  for (const secret of [PROMPT, ANSWER, MASTER_KEY, "provider-key-canary"]) expect(sent).not.toContain(secret);
  const metrics = await call(system.url, "GET", "/metrics", { key: MASTER_KEY });
  expect(metrics.text).toMatch(/^tributary_trace_spans_total\{outcome="exported",edge="0"\} [1-9]/m);
  expect(metrics.text).toMatch(/^tributary_trace_spans_total\{outcome="dropped",edge="0"\} 0$/m);
});

test("a receiver that takes exports and never answers delays and fails no call", async () => {
  const before = await timed(20);
  receiver.hang();
  const after = await timed(20);
  expect([...before.statuses, ...after.statuses]).toEqual(Array.from({ length: 40 }, () => 200));
  // The export times out after 10 s; a call that waited for it would take that long.
  expect(after.slowestMs).toBeLessThan(5000);
});

interface ChatOptions {
  readonly stream?: boolean;
  readonly traceparent?: string;
  readonly fallbacks?: readonly string[];
}

function chat(model: string, { stream = false, traceparent, fallbacks }: ChatOptions): Promise<Answer> {
  return call(system.url, "POST", "/v1/chat/completions", {
    key: MASTER_KEY,
    headers: { "x-request-id": `test-${randomBytes(8).toString("hex")}`, ...(traceparent === undefined ? {} : { traceparent }) },
    body: { model, stream, messages: [{ role: "user", content: PROMPT }], ...(fallbacks ? { fallbacks } : {}) },
  });
}

const callIdOf = ({ headers }: Answer): string => headers.get("x-gw-call-id") ?? "";
const traceOf = (one: Answer): ReceivedSpan[] =>
  receiver.spans.filter(({ attributes }) => attributes["tributary.call_id"] === callIdOf(one));
const rootOf = (one: Answer): ReceivedSpan | undefined => traceOf(one).find(({ kind }) => kind === SERVER);
const headersOf = ({ headers }: Answer): IncomingHttpHeaders[] => asked.get(headers.get("x-request-id") ?? "") ?? [];

function expectWhole(one: Answer, { stream }: { stream: boolean }): void {
  const [root, attempt, settlement] = [SERVER, CLIENT, CONSUMER].map((kind) => traceOf(one).find((span) => span.kind === kind));
  if (!root || !attempt || !settlement) throw new Error("a span is missing");
  expect([root.traceId, attempt.traceId, settlement.traceId]).toEqual([root.traceId, root.traceId, root.traceId]);
  expect([root.parentSpanId, attempt.parentSpanId, settlement.parentSpanId]).toEqual(["", root.spanId, root.spanId]);
  expect([root.service, attempt.service, settlement.service]).toEqual(["tributary-edge", "tributary-edge", "tributary-control-plane"]);
  expect(root.name).toBe("POST /v1/chat/completions");
  expect(root.attributes).toMatchObject({
    "http.request.method": "POST",
    "http.route": "/v1/chat/completions",
    "http.response.status_code": 200,
    "tributary.model": "plain",
    "tributary.status": "success",
    "tributary.cost_nano_usd": COST_NANO_USD,
  });
  expect(attempt.name).toBe("chat provider-model");
  expect(attempt.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "provider-model",
    "gen_ai.response.model": "provider-model",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 11,
    "gen_ai.usage.output_tokens": 7,
    "gen_ai.usage.cost": COST_NANO_USD / 1e9,
    "openinference.span.kind": "LLM",
    "llm.model_name": "provider-model",
    "llm.token_count.prompt": 11,
    "llm.token_count.completion": 7,
    "tributary.attempt": 1,
    "tributary.deployment_id": one.headers.get("x-gw-model-id") ?? expect.any(String),
    "tributary.cost_nano_usd": COST_NANO_USD,
  });
  expect(settlement.attributes).toMatchObject({ "tributary.cost_nano_usd": COST_NANO_USD });
  // The client has its last byte after the attempt; the settlement follows at any time.
  expect(attempt.startMs).toBeGreaterThanOrEqual(root.startMs);
  expect(attempt.endMs).toBeLessThanOrEqual(root.endMs);
  const events = attempt.events.map(({ name, atMs }) => [name, atMs >= attempt.startMs && atMs <= attempt.endMs]);
  expect(events).toEqual(stream ? [["gen_ai.first_token", true]] : []);
  expect(headersOf(one).map(({ traceparent }) => traceparent)).toEqual([`00-${attempt.traceId}-${attempt.spanId}-01`]);
}

/** Waits until every call has so many spans. */
async function tracesOf(answers: readonly Answer[], spans: number): Promise<void> {
  const ids = new Set(answers.map(callIdOf));
  const deadline = performance.now() + 30_000;
  for (;;) {
    const found = receiver.spans.filter(({ attributes }) => ids.has(String(attributes["tributary.call_id"]))).length;
    if (found >= answers.length * spans) return;
    if (performance.now() > deadline) throw new Error(`${found} of ${answers.length * spans} spans arrived`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function timed(count: number): Promise<{ statuses: number[]; slowestMs: number }> {
  const [statuses, times]: [number[], number[]] = [[], []];
  for (let index = 0; index < count; index++) {
    const begun = performance.now();
    statuses.push((await chat("plain", { stream: index % 2 === 0 })).status);
    times.push(performance.now() - begun);
  }
  return { statuses, slowestMs: Math.max(...times) };
}

/** 11 tokens at 1,000 and 7 at 2,000 nano-USD. */
const COST_NANO_USD = 25_000;
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

function answer(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const id = String(request.headers["x-request-id"]);
    asked.set(id, [...(asked.get(id) ?? []), request.headers]);
    const { model, stream } = JSON.parse(Buffer.concat(parts).toString()) as { model: string; stream?: boolean };
    if (model === "bad-model")
      return void response.writeHead(500, { "content-type": "application/json" }).end(`{"error":{"message":"not now"}}`);
    send(response, stream === true);
  });
}

function send(response: ServerResponse, stream: boolean): void {
  response.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" });
  const message = { role: "assistant", content: ANSWER };
  if (!stream) return void response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage: USAGE }));
  const chunk = (choices: object[], more: object = {}) => response.write(`data: ${JSON.stringify({ choices, ...more })}\n\n`);
  chunk([{ index: 0, delta: message, finish_reason: null }]);
  chunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
  chunk([], { usage: USAGE });
  response.end("data: [DONE]\n\n");
}

function configText(base: string): string {
  const entry = (group: string, model: string) => `  - model_name: ${group}
    litellm_params: {model: openai/${model}, api_base: "${base}", api_key: provider-key-canary, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002}
`;
  return `model_list:\n${entry("plain", "provider-model")}${entry("failing", "bad-model")}router_settings: {num_retries: 0}\n`;
}

async function inParallel<T>(total: number, atOnce: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results = new Array<T>(total);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < total; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
