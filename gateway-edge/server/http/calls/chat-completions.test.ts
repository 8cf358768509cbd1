import { setTimeout as delay } from "node:timers/promises";
import { abortSignalOf } from "../../../../common/cancel.ts";
import { AppError } from "../../../../common/errors.ts";
import { toUsdString } from "../../../../common/money.ts";
import { cost } from "../../../credit/pricing/price.ts";
import { NO_USAGE } from "../../../credit/pricing/usage.ts";
import type { Send } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, parseStream, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

const PATH = "/v1/chat/completions";
const PRICES = { input: 1_000_000_000n, output: 2_000_000_000n };
const chat = (content: string, fields: object = {}) => ({ model: "echo", messages: [{ role: "user", content }], ...fields });

const edges: TestEdge[] = [];
async function open(control = new FakeControl(), send?: Send) {
  const edge = await startEdge(control, send ? { send } : {});
  edges.push(edge);
  const { secret } = control.addKey({ isLimited: control.rate !== undefined });
  return { edge, control, secret, auth: { authorization: `Bearer ${secret}` } };
}
afterEach(async () => {
  for (const edge of edges.splice(0)) await edge.close();
});

async function until(condition: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 300 && !condition(); attempt++) await delay(10);
  expect(condition()).toBe(true);
}

const priced = (prompt: number, completion: number) => cost({ ...NO_USAGE, input: prompt, output: completion }, PRICES);

test("a whole answer is OpenAI's, and its cost headers are its priced usage, which the ledger has", async () => {
  const control = new FakeControl();
  control.rate = { limitRequests: 60, remainingRequests: 59, resetSeconds: 1.5 };
  const { edge, auth } = await open(control);
  const response = await edge.post(PATH, chat("Hello, big world!", { user: "u-1", metadata: { tags: ["a"], session_id: "s-1" } }), auth);
  const body = (await response.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
  expect(response.status).toBe(200);
  expect(body).toEqual({
    id: expect.stringMatching(/^chatcmpl-/),
    object: "chat.completion",
    created: expect.any(Number),
    model: "echo",
    choices: [
      { index: 0, message: { role: "assistant", content: "Hello, big world!", refusal: null }, logprobs: null, finish_reason: "stop" },
    ],
    usage: expect.objectContaining({ prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 }),
  });
  const charged = priced(body.usage.prompt_tokens, body.usage.completion_tokens);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "x-gw-cost-nano": charged.toString(),
    "x-gw-response-cost": toUsdString(charged),
    "x-gw-model-id": "dep_echo",
    "x-gw-model-group": "echo",
    "x-gw-attempted-retries": "0",
    "x-gw-attempted-fallbacks": "0",
    "x-gw-overhead-duration-ms": expect.stringMatching(/^\d+\.\d+$/),
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-requests": "59",
    "x-ratelimit-reset-requests": "1500ms",
    "x-request-id": expect.stringMatching(/^req_/),
  });
  const callId = response.headers.get("x-gw-call-id") ?? "";
  expect(control.settled.get(callId)).toMatchObject({
    cost: charged,
    status: "success",
    httpStatus: 200,
    priceVersion: 3,
    endUser: "u-1",
    tags: ["session:s-1", "a"],
    apiKeyId: "key_1",
    endpoint: PATH,
    usage: { input: 5n, output: 5n, total: 10n, source: "provider" },
  });
  expect(control.reserved[0]).toMatchObject({ worstCase: priced(5, 4096) });
});

test("a session is a tag of the log and not of routing: with tag filtering the call is served, and no tag of the caller is dropped", async () => {
  const control = new FakeControl();
  control.settings = JSON.stringify({ router_settings: { enable_tag_filtering: true } });
  const { edge, auth } = await open(control);
  expect((await edge.post(PATH, chat("x", { metadata: { session_id: "s-1" } }), auth)).status).toBe(200);
  expect([...control.settled.values()].map(({ tags }) => tags)).toEqual([["session:s-1"]]);
  const unknown = await edge.post(PATH, chat("x", { metadata: { tags: ["a"], session_id: "s-1" } }), auth);
  expect([unknown.status, await unknown.text()]).toEqual([400, expect.stringContaining("has the tags of this request")]);
});

test("a valid traceparent is a tag of the row, also of a refused call, and not of routing; an invalid one is none", async () => {
  const control = new FakeControl();
  control.settings = JSON.stringify({ router_settings: { enable_tag_filtering: true } });
  const { edge, auth } = await open(control);
  const [traceId, spanId] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
  const ask = (traceparent: string, more: object = {}) => edge.post(PATH, chat("x", more), { ...auth, traceparent });
  const metadata = { session_id: "s-1" };
  expect((await ask(`00-${traceId}-${spanId}-00`, { metadata })).status).toBe(200);
  expect((await ask(`00-${traceId}-${spanId}-01`, { model: "no-such-model" })).status).toBe(404);
  expect((await ask(`00-${traceId}-${"0".repeat(16)}-01`)).status).toBe(200);
  await until(() => control.settled.size === 3);
  expect([...control.settled.values()].map(({ status, tags }) => [status, ...tags])).toEqual([
    ["success", "session:s-1", `trace:${traceId}`],
    ["refused", `trace:${traceId}`],
    ["success"],
  ]);
});

test("a stream is well-formed, with the usage chunk only when asked for, and its usage is what was settled", async () => {
  const { edge, control, auth } = await open();
  const plain = await edge.post(PATH, chat("One two.", { stream: true, n: 2 }), auth);
  expect(plain.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(plain.headers.get("x-gw-cost-nano")).toBeNull();
  expect(plain.headers.get("x-gw-call-id")).toMatch(/^call_/);
  const frames = parseStream(await plain.text());
  expect(frames.every((frame) => !("usage" in frame))).toBe(true);
  for (const index of [0, 1]) {
    const own = frames
      .flatMap((frame) => frame["choices"] as { index: number; delta: Record<string, unknown>; finish_reason: unknown }[])
      .filter((choice) => choice.index === index);
    expect(own[0]?.delta).toEqual({ role: "assistant", content: "", refusal: null });
    expect(own.slice(1).every(({ delta }) => !("role" in delta))).toBe(true);
    expect(own.map(({ delta }) => delta["content"] ?? "").join("")).toBe("One two.");
    expect(own.map(({ finish_reason: reason }) => reason)).toEqual([...own.slice(1).map(() => null), "stop"]);
  }
  const asked = await edge.post(PATH, chat("One two.", { stream: true, stream_options: { include_usage: true } }), auth);
  const withUsage = parseStream(await asked.text());
  expect(withUsage.slice(0, -1).every((frame) => frame["usage"] === null)).toBe(true);
  expect(withUsage.at(-1)).toMatchObject({
    choices: [],
    cost_nano: Number(priced(3, 3)),
    usage: { prompt_tokens: 3, completion_tokens: 3 },
  });
  expect(new Set(withUsage.map((frame) => `${frame["id"]} ${frame["created"]} ${frame["model"]} ${frame["object"]}`)).size).toBe(1);
  expect(control.settled.get(asked.headers.get("x-gw-call-id") ?? "")).toMatchObject({
    cost: priced(3, 3),
    stream: true,
    status: "success",
  });
});

test("empty content streams a role and a finish", async () => {
  const { edge, auth } = await open();
  const frames = parseStream(await (await edge.post(PATH, chat("", { stream: true }), auth)).text());
  expect(frames).toHaveLength(2);
});

test("every spelling of the path works; a model in the path wins", async () => {
  const control = new FakeControl();
  control.deployments.push(deployment({ modelName: "team/ü model" }));
  const { edge, auth } = await open(control);
  for (const path of [
    "/chat/completions",
    "/v1/chat/completions",
    "/engines/echo/chat/completions",
    "/openai/deployments/echo/chat/completions",
  ]) {
    expect((await edge.post(path, chat("x"), auth)).status).toBe(200);
  }
  const slashed = await edge.post("/engines/team%2F%C3%BC%20model/chat/completions", chat("x"), auth);
  expect(slashed.headers.get("x-gw-model-group")).toBe("team%2F%C3%BC%20model");
  expect(await slashed.json()).toMatchObject({ model: "team/ü model" });
  for (const path of ["/engines/team/%C3%BC%20model", "/openai/deployments/team/%C3%BC%20model"]) {
    const raw = await edge.post(`${path}/chat/completions`, chat("x"), auth);
    expect(await raw.json()).toMatchObject({ object: "chat.completion", model: "team/ü model" });
    expect((await edge.post(`${path}/completions`, { prompt: "x" }, auth)).status).toBe(200);
  }
  expect((await edge.post("/engines//chat/completions", chat("x"), auth)).status).toBe(404);
  expect((await edge.post("/engines/%zz/chat/completions", chat("x"), auth)).status).toBe(400);
});

test("several choices of a provider that streams one per request have all of their text", async () => {
  const chunk = (fields: object) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", ...fields })}\n\n`;
  const delta = (content: string, reason: string | null) =>
    chunk({ choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: reason }] });
  const usage = chunk({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
  const requests: unknown[] = [];
  const send: Send = async ({ body }) => {
    requests.push(JSON.parse(String(body)));
    const frames = [delta("one ", null), delta("two", null), delta("", "stop"), usage, "data: [DONE]\n\n"];
    return {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: (async function* () {
        for (const frame of frames) yield Buffer.from(frame);
      })(),
    };
  };
  const control = new FakeControl();
  control.deployments.push(deployment({ modelName: "fast", providerKind: "groq", inferenceModelId: "llama" }));
  const { edge, auth } = await open(control, send);
  const asked = { ...chat("x", { n: 2, stream: true, stream_options: { include_usage: true } }), model: "fast" };
  const frames = parseStream(await (await edge.post(PATH, asked, auth)).text());
  const texts = ["", ""];
  for (const { choices } of frames as { choices: { index: number; delta: { content?: string } }[] }[]) {
    for (const { index, delta: part } of choices) texts[index] += part.content ?? "";
  }
  expect(requests).toEqual([expect.not.objectContaining({ n: 2 }), expect.not.objectContaining({ n: 2 })]);
  expect(texts).toEqual(["one two", "one two"]);
  expect(frames.at(-1)).toMatchObject({ usage: { prompt_tokens: 6, completion_tokens: 4 } });
});

test("text completions of a chat model take several prompts, each with its choices, by prompt, and bill each", async () => {
  const { edge, auth } = await open();
  const ask = (fields: object) => edge.post("/v1/completions", { model: "echo", ...fields }, auth);
  const answer = (await (await ask({ prompt: ["one two", "three"], n: 2 })).json()) as {
    choices: { index: number; text: string }[];
    usage: { prompt_tokens: number; completion_tokens: number };
  };
  const singles = await Promise.all(
    ["one two", "one two", "three", "three"].map(async (prompt) => (await (await ask({ prompt })).json()) as typeof answer),
  );
  expect(answer.choices.map(({ index, text }) => [index, text])).toEqual(singles.map(({ choices }, index) => [index, choices[0]?.text]));
  const sum = (of: "prompt_tokens" | "completion_tokens") => singles.reduce((total, { usage }) => total + usage[of], 0);
  expect(answer.usage).toMatchObject({ prompt_tokens: sum("prompt_tokens"), completion_tokens: sum("completion_tokens") });
  const streamed = await ask({ prompt: ["one two", "three"], n: 2, stream: true, stream_options: { include_usage: true } });
  const frames = parseStream(await streamed.text()) as { choices: { index: number; text: string }[]; usage?: object }[];
  const texts = ["", "", "", ""];
  for (const { choices } of frames) for (const { index, text } of choices ?? []) texts[index] += text;
  expect(texts).toEqual(["one two", "one two", "three", "three"]);
  expect(frames.find(({ usage }) => usage)?.usage).toMatchObject({ prompt_tokens: sum("prompt_tokens") });
  for (const prompt of [Array.from({ length: 9 }, () => "x"), [1, 2], [[1], [2]]]) {
    const refusal = await ask({ prompt });
    expect([refusal.status, await refusal.json()]).toMatchObject([400, { error: { param: "prompt", code: "unsupported_parameter" } }]);
  }
});

test("refusals have their status, type, code and ids", async () => {
  const control = new FakeControl();
  control.deployments.push(deployment({ modelName: "other" }), deployment({ modelName: "unpriced", model: undefined }));
  control.deployments.push({
    ...deployment({ modelName: "priceless" }),
    providerKind: "openai",
    inferenceModelId: "nobody-has-heard-of-it",
    model: { ...deployment({ modelName: "priceless" }).model, pricing: undefined } as never,
  });
  const { edge, auth } = await open(control);
  const narrow = { "x-api-key": control.addKey({ models: { names: ["echo", "un*"] } }).secret };
  const blocked = { "x-gw-api-key": control.addKey({ status: "team_blocked" }).secret };
  const blockedBy = (blockedReason: string) => ({ "x-gw-api-key": control.addKey({ status: "team_blocked", blockedReason }).secret });
  const rows: [unknown, Record<string, string>, number, object][] = [
    [chat("x", { model: "nothing" }), auth, 404, { type: "not_found_error", code: "model_not_found", param: "model" }],
    [chat("x", { model: "unpriced" }), auth, 404, { type: "not_found_error", code: "model_not_found", param: "model" }],
    [chat("x", { model: "priceless" }), auth, 400, { type: "invalid_request_error", param: "model" }],
    [chat("x", { model: "other" }), narrow, 403, { type: "permission_denied_error", code: "model_not_allowed", param: "model" }],
    [chat("x", { fallbacks: ["other"] }), narrow, 403, { type: "permission_denied_error", code: "model_not_allowed", param: "fallbacks" }],
    [chat("x", { model: "nothing" }), blocked, 403, { type: "permission_denied_error", code: "TEAM_BLOCKED", param: null }],
    [chat("x"), blockedBy("quota"), 403, { code: "TEAM_BLOCKED", message: expect.stringMatching(/below zero\. Buy credits/) }],
    [chat("x"), blockedBy("admin"), 403, { code: "TEAM_BLOCKED", message: expect.stringMatching(/by an administrator\. Ask one/) }],
    ["{", auth, 400, { type: "invalid_request_error", code: "invalid_json" }],
    [chat("x", { n: 129 }), auth, 422, { type: "unprocessable_entity_error", code: null, param: "n" }],
    [chat("x", { api_base: "http://evil" }), auth, 400, { code: "unsupported_parameter", param: "api_base" }],
    [chat("x".repeat(70_000)), auth, 413, { type: "invalid_request_error" }],
    [chat("x"), { ...auth, "content-type": "text/plain" }, 415, { type: "invalid_request_error" }],
    [chat("x"), {}, 401, { type: "authentication_error", code: "invalid_api_key", param: null }],
  ];
  for (const [body, headers, status, error] of rows) {
    const response = await edge.post(PATH, body, headers);
    expect([response.status, ((await response.json()) as { error: object }).error]).toEqual([status, expect.objectContaining(error)]);
    expect(response.headers.get("x-gw-call-id")).toMatch(/^call_/);
    expect(response.headers.get("x-request-id")).toBeTruthy();
    expect(response.headers.get("x-should-retry")).toBe(status === 403 ? "false" : null);
  }
  expect(control.made.length).toBe(0);
  const put = await fetch(edge.url + PATH, { method: "PUT", headers: auth });
  expect([put.status, put.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  const unknown = await fetch(`${edge.url}/v1/nothing`);
  expect([unknown.status, ((await unknown.json()) as { error: { type: string } }).error.type]).toEqual([404, "not_found_error"]);
  expect(unknown.headers.get("x-gw-call-id")).toBeTruthy();
});

test("credit: refused at zero, capped when little is left, free calls pass", async () => {
  const control = new FakeControl();
  control.deployments.push(deployment({ modelName: "free" }, { input: 0n, output: 0n }));
  const { edge, auth } = await open(control);
  // Prepare: enough for the input (4 tokens) and two tokens of output.
  control.balance = priced(4, 2);
  const short = await edge.post(PATH, chat("one two three four", { stream: true }), auth);
  const frames = parseStream(await short.text());
  expect(frames.at(-1)).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect(control.balance).toBe(0n);
  const refused = await edge.post(PATH, chat("x"), auth);
  expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([429, "false"]);
  expect(await refused.json()).toMatchObject({ error: { type: "insufficient_quota", code: "QUOTA_EXCEEDED" } });
  expect((await edge.post(PATH, chat("x", { model: "free" }), auth)).status).toBe(200);
  expect(control.made.length).toBe(2);
  control.refuseReserve = new AppError("RATE_LIMIT_EXCEEDED", "Slow down.", { retryAfterSeconds: 2.2 });
  const { secret } = control.addKey({ isLimited: true });
  const limited = await edge.post(PATH, chat("x", { model: "free" }), { authorization: `Bearer ${secret}` });
  expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "3"]);
});

test("a settlement that fails is tried again and counted once", async () => {
  const { edge, control, auth } = await open();
  let failures = 3;
  control.beforeSettle = () => {
    if (failures-- > 0) throw new AppError("UNAVAILABLE", "down");
  };
  const balance = control.balance;
  const response = await edge.post(PATH, chat("hello"), auth);
  expect(response.status).toBe(200);
  expect([control.settleCalls, control.settled.size]).toEqual([4, 1]);
  expect(balance - control.balance).toBe(BigInt(response.headers.get("x-gw-cost-nano") ?? "0"));
});

const frame = (delta: object, finish: string | null = null) =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);

test("a client that leaves in mid-stream stops the provider and pays for what was delivered", async () => {
  let aborted = false;
  const { edge, control, auth } = await open(new FakeControl(), async (_request, signal) => ({
    status: 200,
    headers: {},
    body: (async function* () {
      yield frame({ role: "assistant", content: "" });
      yield frame({ content: "one" });
      yield frame({ content: " two" });
      await delay(20_000, undefined, { signal: abortSignalOf(signal) }).catch(() => {
        aborted = true;
        throw signal.reason;
      });
    })(),
  }));
  const leaving = new AbortController();
  const response = await fetch(edge.url + PATH, {
    method: "POST",
    headers: { ...auth, "content-type": "application/json" },
    body: JSON.stringify(chat("x", { stream: true })),
    signal: leaving.signal,
  });
  let seen = "";
  await expect(async () => {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      seen += Buffer.from(chunk).toString();
      if (seen.includes(" two")) leaving.abort();
    }
  }).rejects.toThrow();
  await until(() => control.settled.size === 1);
  expect(aborted).toBe(true);
  expect([...control.settled.values()][0]).toMatchObject({
    status: "cancelled",
    httpStatus: 499,
    cost: priced(1, 2),
    usage: { source: "estimated", output: 2n },
  });
});

test("a client that leaves a provider that never pauses is settled too, and the provider's answer is let go", async () => {
  let closed = false;
  const { edge, control, auth } = await open(new FakeControl(), async () => ({
    status: 200,
    headers: {},
    body: (async function* () {
      try {
        for (;;) {
          yield frame({ content: " word" });
          await delay(1);
        }
      } finally {
        closed = true;
      }
    })(),
  }));
  const response = await edge.post(PATH, chat("x", { stream: true }), auth);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  await reader.cancel();
  await until(() => control.settled.size === 1 && closed);
  const [log] = control.settled.values();
  expect(log).toMatchObject({ status: "cancelled", usage: { source: "estimated" } });
  expect(log?.cost).toBe(priced(1, Number(log?.usage?.output)));
});

test("before the first content an error is a status and a log row without cost; after it, a frame and [DONE]", async () => {
  let script: () => AsyncGenerator<Uint8Array>;
  let status = 200;
  const fake = new FakeControl();
  // One deployment, asked once for each call: what is shown is what it did.
  fake.settings = JSON.stringify({ router_settings: { num_retries: 0, disable_cooldowns: true } });
  const { edge, control, auth } = await open(fake, async () => {
    if (status === 0) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    return { status, headers: {}, body: script() };
  });
  const last = () => [...control.settled.values()].at(-1);
  script = async function* () {
    yield Buffer.from('data: {"error":{"message":"overloaded"}}\n\n');
  };
  for (const [upstream, seen] of [
    [200, 503],
    [401, 503],
    [0, 503],
    [504, 408],
  ] as const) {
    status = upstream;
    const response = await edge.post(PATH, chat("x", { stream: true }), auth);
    expect([response.status, response.headers.get("content-type")]).toEqual([seen, "application/json; charset=utf-8"]);
    expect(last()).toMatchObject({ status: "error", cost: 0n, httpStatus: seen });
  }
  status = 200;
  // The role alone is no content yet.
  script = async function* () {
    yield frame({ role: "assistant", content: "" });
    throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
  };
  const silent = await edge.post(PATH, chat("x", { stream: true }), auth);
  expect([silent.status, last()?.cost]).toEqual([503, 0n]);
  script = async function* () {
    yield frame({ content: "one" });
    yield frame({ content: " two" });
    throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
  };
  const broken = await edge.post(PATH, chat("x", { stream: true }), auth);
  const frames = parseStream(await broken.text());
  expect(broken.status).toBe(200);
  expect(frames.at(-1)).toEqual({
    error: { message: expect.any(String), type: "api_connection_error", param: null, code: "upstream_unavailable" },
  });
  expect(last()).toMatchObject({ status: "error", cost: priced(1, 2), errorCode: "UPSTREAM_UNAVAILABLE" });
  expect(control.settled.size).toBe(6);
});

test("an Idempotency-Key gives the stored bytes again, one upstream call, billed once; another body is a conflict", async () => {
  const { edge, control, auth } = await open();
  for (const stream of [false, true]) {
    const headers = { ...auth, "idempotency-key": `key-${stream}` };
    const before = control.settled.size;
    const again = { stream, max_tokens: 9 };
    const first = await edge.post(PATH, chat("again", again), headers);
    const firstText = await first.text();
    const second = await edge.post(PATH, chat("again", again), headers);
    expect(await second.text()).toBe(firstText);
    expect([first.headers.get("idempotent-replayed"), second.headers.get("idempotent-replayed")]).toEqual([null, "true"]);
    for (const name of ["content-type", "x-gw-call-id", "x-gw-model-id", "x-gw-cost-nano"])
      expect(second.headers.get(name)).toBe(first.headers.get(name));
    expect(control.settled.size).toBe(before + 1);
    expect((await edge.post(PATH, chat("other", { stream }), headers)).status).toBe(409);
    // Another API would answer the same body in another form.
    expect((await edge.post("/v1/messages", chat("again", again), headers)).status).toBe(409);
  }
  // A failed call frees its key.
  const headers = { ...auth, "idempotency-key": "failing" };
  expect((await edge.post(PATH, chat("x", { model: "nothing" }), headers)).status).toBe(404);
  expect((await edge.post(PATH, chat("x"), headers)).status).toBe(200);
  expect((await edge.post(PATH, chat("x"), { ...auth, "idempotency-key": " " })).status).toBe(400);
});

test.each([
  [{ service_tier: "priority" }, "service_tier"],
  [{ service_tier: "performance" }, "service_tier"],
  [{ models: ["openai/gpt-5-pro"], route: "fallback" }, "models"],
  [{ route: "fallback" }, "route"],
  [{ preset: "large" }, "preset"],
  [{ web_search_options: { search_type: "pro" } }, "web_search_options.search_type"],
  [{ deferred: true }, "deferred"],
  [{ tools: [{ type: "code_interpreter", container: { type: "auto", memory_limit: "64g" } }] }, "tools[0].container.memory_limit"],
  [{ tools: [{ type: "shell", environment: { type: "container_auto", memory_limit: "4g" } }] }, "tools[0].environment.memory_limit"],
  [{ extra_body: { service_tier: "priority" } }, "extra_body.service_tier"],
  [{ plugins: [{ id: "web" }, { id: "file-parser", pdf: { engine: "mistral-ocr" } }] }, "plugins[1].pdf.engine"],
])("%j, at prices that the call is not billed at, is refused, and nothing is sent", async (fields, param) => {
  const { edge, control, auth } = await open();
  for (const drop of [false, true]) {
    const refused = await edge.post(PATH, chat("x", { ...fields, drop_params: drop }), auth);
    expect([refused.status, ((await refused.json()) as { error: object }).error]).toEqual([
      400,
      expect.objectContaining({ type: "invalid_request_error", code: "unsupported_parameter", param }),
    ]);
  }
  expect(control.intents).toEqual([]);
  for (const tier of ["auto", "default", "flex"])
    expect((await edge.post(PATH, chat("x", { service_tier: tier, drop_params: true }), auth)).status).toBe(200);
});
