import { EventEmitter } from "node:events";
import { AppError } from "../../../common/errors.ts";
import { systemRandom } from "../../../common/random.ts";
import { createSampler } from "../../../common/tracing/sampler.ts";
import type { Span } from "../../../common/tracing/span.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import type { CallResponse } from "../http-exchange.ts";
import { answerAttributes, attemptAttributes, finishReasonsOf } from "./gen-ai.ts";
import { inputMessages, outputMessages } from "./messages.ts";
import { Tracing } from "./tracing.ts";

const DEPLOYMENT = { id: "dep_1", providerKind: "bedrock", inferenceModelId: "claude" } as Deployment;
const JOB = { operation: "chat", stream: true } as const;

function start(sampler: Parameters<typeof createSampler>[0] = "always_on") {
  const spans: Span[] = [];
  const clock = fakeClock();
  const tracing = new Tracing({
    sink: { add: (span) => void spans.push(span) },
    clock,
    random: systemRandom,
    sampler: createSampler(sampler, 1),
  });
  return { spans, clock, tracing };
}

function request(headers: Record<string, string> = {}) {
  const response = Object.assign(new EventEmitter(), {
    writableFinished: false,
    statusCode: 200,
    locals: { route: "/v1/chat/completions" },
  });
  const incoming = { method: "POST", url: "/v1/chat/completions?key=sk-secret", headers };
  return { request: incoming, response: response as unknown as CallResponse & typeof response };
}

const rowOf = (more: Partial<UsageLog> = {}) => UsageLog.fromPartial({ callId: "call_1", status: "success", cost: 7n, ...more });

test("a client that leaves before its call is settled gets one trace, which ends with the settlement and has its row", async () => {
  const { spans, clock, tracing } = start();
  const { request: incoming, response } = request();
  tracing.begin("call_1", incoming, response);
  const trace = tracing.callOf({ callId: "call_1", endpoint: "/v1/chat/completions" });
  trace.attempting(DEPLOYMENT, JOB);
  await clock.advance(20);
  response.emit("close");
  expect(spans).toEqual([]);
  await clock.advance(5);
  const log = rowOf({ status: "cancelled" });
  tracing.settling(log);
  expect(spans.map(({ kind, startMs, endMs }) => [kind, endMs - startMs])).toEqual([
    ["client", 25],
    ["server", 25],
  ]);
  const [attempt, root] = spans;
  expect(root).toMatchObject({ attributes: { "http.response.status_code": 499, "tributary.status": "cancelled" }, error: undefined });
  expect(log.traceparent).toBe(`00-${root?.traceId}-${root?.spanId}-01`);
  expect(attempt?.parentSpanId).toBe(root?.spanId);
  expect(JSON.stringify(spans.map(({ attributes }) => attributes["url.path"]))).not.toContain("secret");
  // Nothing is held of it: the row of another call with this id would have no trace.
  const later = rowOf();
  tracing.settling(later);
  expect(later.traceparent).toBeUndefined();
});

test("a call without a request has a trace of its own, from its start to its settlement", () => {
  const { spans, tracing } = start();
  tracing.callOf({ callId: "call_1", endpoint: "/v1/batches" }).attempting(DEPLOYMENT, JOB);
  tracing.settling(rowOf());
  expect(spans.map(({ kind, name, parentSpanId }) => [kind, name, parentSpanId])).toEqual([
    ["client", "chat claude", spans[1]?.spanId],
    ["internal", "call /v1/batches", undefined],
  ]);
});

test("a call that is not sampled makes no span and no mark in its row, and tells the provider so", () => {
  const { spans, tracing } = start("always_off");
  const { request: incoming, response } = request();
  tracing.begin("call_1", incoming, response);
  const trace = tracing.callOf({ callId: "call_1", endpoint: "x" });
  expect(trace.attempting(DEPLOYMENT, JOB)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  trace.attemptFailed({ error: new AppError("UPSTREAM_TIMEOUT", "The provider did not answer in time.") });
  const log = rowOf();
  tracing.settling(log);
  response.emit("close");
  expect([spans, log.traceparent]).toEqual([[], undefined]);
});

test("attributes have the names of the conventions, and usage adds up to what the provider counted", () => {
  const attempt = { operation: "completions", stream: false, deployment: DEPLOYMENT, callId: "call_1", number: 2 } as const;
  expect(attemptAttributes(attempt)).toMatchObject({
    "gen_ai.operation.name": "text_completion",
    "gen_ai.provider.name": "aws.bedrock",
    "openinference.span.kind": "LLM",
    "tributary.attempt": 2,
  });
  expect(attemptAttributes({ ...attempt, operation: "embeddings" })).toMatchObject({
    "openinference.span.kind": "EMBEDDING",
    "embedding.model_name": "claude",
  });
  const tokens = {
    input: 10n,
    cachedInput: 20n,
    cacheWrite: 5n,
    output: 3n,
    reasoning: 4n,
    audio: 9n,
    audioOutput: 2n,
    total: 51n,
    source: "provider",
  };
  expect(
    answerAttributes(rowOf({ usage: { ...tokens, amounts: undefined, cacheWriteHour: undefined }, cost: 1_500_000_000n }), ["stop"]),
  ).toMatchObject({
    "gen_ai.usage.input_tokens": 42n,
    "gen_ai.usage.output_tokens": 9n,
    "llm.token_count.total": 51n,
    "llm.cost.total": 1.5,
    "gen_ai.response.finish_reasons": ["stop"],
  });
});

test("finish reasons are read from every dialect's answer, and an answer without them has none", () => {
  expect(finishReasonsOf({ choices: [{ finishReason: "stop" }, { finishReason: "length" }, {}] })).toEqual(["stop", "length"]);
  expect(finishReasonsOf({ proxied: { stop_reason: "end_turn" } })).toEqual(["end_turn"]);
  expect(finishReasonsOf({ proxied: { status: "completed" } })).toEqual(["completed"]);
  for (const answer of [undefined, null, "text", { vectors: [] }]) expect(finishReasonsOf(answer)).toEqual([]);
});

describe("prompts and answers", () => {
  const prompt = {
    system: "be brief",
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "weather?" },
          { type: "image_url", image_url: { url: "https://x" } },
        ],
      },
      { role: "assistant", content: null, tool_calls: [{ id: "c1", function: { name: "look", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c1", content: "sunny" },
    ],
  };
  const answer = { choices: [{ index: 0, message: { role: "assistant", content: "sunny" }, finish_reason: "stop" }] };
  const content = { bytes: 10, redacted: () => ({ prompt: JSON.stringify(prompt), answer: JSON.stringify(answer) }) };

  test("are on the attempt that answered and on no other span, by the GenAI conventions", () => {
    const { spans, tracing } = start();
    const trace = tracing.callOf({ callId: "call_1", endpoint: "/v1/chat/completions" });
    trace.attempting(DEPLOYMENT, JOB);
    trace.attemptFailed({ error: new AppError("UPSTREAM_UNAVAILABLE", "down") });
    trace.attempting(DEPLOYMENT, JOB);
    tracing.settling(rowOf(), content);
    expect(spans.map((span) => span.content !== undefined)).toEqual([false, true, false]);
    const attributes = spans[1]?.content?.attributes() ?? {};
    expect(JSON.parse(String(attributes["gen_ai.input.messages"]))).toEqual([
      { role: "system", parts: [{ type: "text", content: "be brief" }] },
      {
        role: "user",
        parts: [
          { type: "text", content: "weather?" },
          { type: "image_url", image_url: { url: "https://x" } },
        ],
      },
      { role: "assistant", parts: [{ type: "tool_call", id: "c1", name: "look", arguments: "{}" }] },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "sunny" }] },
    ]);
    expect(JSON.parse(String(attributes["gen_ai.output.messages"]))).toEqual([
      { role: "assistant", parts: [{ type: "text", content: "sunny" }], finish_reason: "stop" },
    ]);
    expect([attributes["input.value"], attributes["output.mime_type"]]).toEqual([JSON.stringify(prompt), "application/json"]);
  });

  test("of a call that failed are its prompt alone, and a call without them has none", () => {
    const { spans, tracing } = start();
    tracing.callOf({ callId: "call_1", endpoint: "/x" }).attempting(DEPLOYMENT, JOB);
    tracing.settling(rowOf({ status: "error" }), { bytes: 1, redacted: () => ({ prompt: '{"input":"hi"}', answer: undefined }) });
    expect(Object.keys(spans[0]?.content?.attributes() ?? {})).toEqual(["gen_ai.input.messages", "input.value", "input.mime_type"]);
    tracing.callOf({ callId: "call_2", endpoint: "/x" }).attempting(DEPLOYMENT, JOB);
    tracing.settling(rowOf({ callId: "call_2" }));
    expect(spans.slice(2).map((span) => span.content)).toEqual([undefined, undefined]);
  });

  test.each([
    [{ input: "a" }, ["a"]],
    [{ input: ["a", { role: "user", content: "b" }] }, ["a", "b"]],
    [{ prompt: ["a"], instructions: "b" }, ["b", "a"]],
    [{ query: "a", documents: ["b"] }, ["a", "b"]],
  ])("of a request %j are messages", (request, texts) => {
    expect(inputMessages(request).flatMap(({ parts }) => parts.map((part) => part["content"]))).toEqual(texts);
  });

  test("of a provider's own API are messages", () => {
    const own = { content: [{ type: "text", text: "hi" }], stop_reason: "end_turn" };
    expect(outputMessages(own)).toEqual([{ role: "assistant", parts: [{ type: "text", content: "hi" }], finish_reason: "end_turn" }]);
  });
});
