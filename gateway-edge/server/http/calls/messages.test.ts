import { readNamedEvents } from "../../../calls/dialects/dialect-fixture.ts";
import type { Fields, Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

const edges: TestEdge[] = [];
afterAll(() => Promise.all(edges.map((edge) => edge.close())));

const upstream = { baseUrl: "http://upstream/v1", apiKey: "up", params: "{}" };
const DEPLOYMENTS = [
  deployment({ modelName: "gpt", providerKind: "openai", inferenceModelId: "gpt-4o", ...upstream }),
  deployment({
    modelName: "claude",
    providerKind: "anthropic",
    inferenceModelId: "claude-sonnet-4-5",
    ...upstream,
    info: JSON.stringify({ supports_messages: false }),
  }),
];

/** An edge in front of an upstream that says `text`, with `status`; without them the built-in echo model is there too. */
async function open(script: { text?: string; status?: number; fail?: boolean } = {}) {
  const control = new FakeControl();
  const requests: UpstreamRequest[] = [];
  const send: Send = async (request) => {
    requests.push(request);
    return {
      status: script.status ?? 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(script.text ?? "{}");
        if (script.fail) throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      })(),
    };
  };
  if (script.text !== undefined) control.deployments = DEPLOYMENTS;
  const edge = await startEdge(control, script.text === undefined ? {} : { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const post = (body: object, headers: Record<string, string> = { "x-api-key": secret }, path = "/v1/messages") =>
    edge.post(path, body, { "anthropic-version": "2023-06-01", ...headers });
  return { control, edge, requests, secret, post, sent: () => JSON.parse(String(requests.at(-1)?.body)) as Fields };
}

const hi = { model: "echo", max_tokens: 50, messages: [{ role: "user", content: "one two three" }] };
const chatAnswer = (message: object, finish_reason = "stop") =>
  JSON.stringify({ choices: [{ index: 0, message, finish_reason }], usage: { prompt_tokens: 5, completion_tokens: 2 } });
const lastLog = (control: FakeControl) => [...control.settled.values()].at(-1);

test("a message is answered in Anthropic's format by any chat model, with the key in either credential header, and billed once", async () => {
  const { control, post, secret } = await open();
  for (const headers of [{ "x-api-key": secret }, { authorization: `Bearer ${secret}` }]) {
    const response = await post(hi, headers as Record<string, string>);
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        id: expect.stringMatching(/^msg_/),
        type: "message",
        role: "assistant",
        model: "echo",
        content: [{ type: "text", text: "one two three" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        stop_details: null,
        usage: expect.objectContaining({ input_tokens: expect.any(Number), output_tokens: expect.any(Number) }),
      },
    ]);
    expect(response.headers.get("request-id")).toBe(response.headers.get("x-request-id"));
    expect(Number(response.headers.get("x-gw-cost-nano"))).toBe(Number(lastLog(control)?.cost));
  }
  expect([control.settled.size, lastLog(control)?.endpoint, lastLog(control)?.status]).toEqual([2, "/v1/messages", "success"]);
  const cut = await post({ ...hi, max_tokens: 1 });
  expect(await cut.json()).toMatchObject({ stop_reason: "max_tokens" });
});

test("a stream has Anthropic's events in order, ends with message_stop and is settled before it", async () => {
  const { control, post } = await open();
  const response = await post({ ...hi, stream: true });
  const events = readNamedEvents(await response.text());
  const types = events.map(({ type }) => type).filter((type) => type !== "content_block_delta");
  expect(types).toEqual(["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"]);
  expect(response.headers.get("content-type")).toMatch("text/event-stream");
  const log = lastLog(control);
  const delta = events.find(({ type }) => type === "message_delta");
  expect(delta).toMatchObject({
    delta: { stop_reason: "end_turn" },
    usage: { input_tokens: Number(log?.usage?.input), output_tokens: Number(log?.usage?.output), cost_nano: Number(log?.cost) },
  });
});

test("the same Idempotency-Key gives the same message again, and pays it once", async () => {
  const { control, post, secret } = await open();
  const headers = { "x-api-key": secret, "idempotency-key": "k1" };
  const first = await (await post({ ...hi, stream: true }, headers)).text();
  const again = await post({ ...hi, stream: true }, headers);
  expect([await again.text(), again.headers.get("idempotent-replayed"), control.settled.size]).toEqual([first, "true", 1]);
  const other = await post({ ...hi, max_tokens: 7 }, headers);
  expect([other.status, await other.json()]).toMatchObject([409, { type: "error", error: { type: "invalid_request_error" } }]);
});

test.each([
  [{ ...hi, max_tokens: undefined }, 400, "invalid_request_error"],
  [{ ...hi, model: "nope" }, 404, "not_found_error"],
  [{ ...hi, messages: [{ role: "user", content: [{ type: "hologram" }] }] }, 400, "invalid_request_error"],
  [{ ...hi, api_base: "http://evil" }, 400, "invalid_request_error"],
  [{ ...hi, n: -5 }, 400, "invalid_request_error"],
  [{ ...hi, max_completion_tokens: "1e9" }, 400, "invalid_request_error"],
])("a refusal has Anthropic's shape and status: %j", async (body, status, type) => {
  const { post } = await open();
  const response = await post(body);
  expect([response.status, await response.json()]).toEqual([
    status,
    { type: "error", error: { type, message: expect.stringMatching(/./) }, request_id: response.headers.get("request-id") },
  ]);
});

test("a caller without key, credit or permission gets an error in Anthropic's format", async () => {
  const { control, edge, post } = await open();
  expect([(await post(hi, {})).status, await (await post(hi, {})).json()]).toMatchObject([
    401,
    { error: { type: "authentication_error" } },
  ]);
  const bound = control.addKey({ models: { names: ["other"] } });
  expect(await (await post(hi, { "x-api-key": bound.secret })).json()).toMatchObject({ error: { type: "permission_error" } });
  control.balance = 0n;
  const broke = await post(hi);
  expect([broke.status, broke.headers.get("x-should-retry"), await broke.json()]).toMatchObject([
    402,
    "false",
    { error: { type: "billing_error" } },
  ]);
  const wrongMethod = await fetch(`${edge.url}/v1/messages`);
  expect([wrongMethod.status, await wrongMethod.json()]).toMatchObject([405, { type: "error" }]);
});

test("an upstream that refuses or cannot be reached is overloaded, never the caller's fault", async () => {
  const { post } = await open({ text: '{"error":{"message":"down"}}', status: 503 });
  const response = await post({ ...hi, model: "gpt", num_retries: 0 });
  expect([response.status, await response.json()]).toMatchObject([529, { type: "error", error: { type: "overloaded_error" } }]);
});

test("an upstream that fails mid-stream becomes an error event, after what was delivered and billed", async () => {
  const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const { control, post } = await open({ text: chunk({ content: "one " }) + chunk({ content: "two " }), fail: true });
  const events = readNamedEvents(await (await post({ ...hi, model: "gpt", stream: true })).text());
  expect(events.map(({ type }) => type)).toEqual([
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "error",
  ]);
  expect(events.at(-1)).toMatchObject({ error: { type: "overloaded_error" }, request_id: expect.stringMatching(/./) });
  expect(lastLog(control)).toMatchObject({ status: "error", httpStatus: 529 });
});

test("tools travel there and back", async () => {
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: '{"city":"Oslo"}' } };
  const { post, sent } = await open({ text: chatAnswer({ content: null, tool_calls: [call] }, "tool_calls") });
  const tools = [{ name: "f", description: "d", input_schema: { type: "object" } }];
  const response = await post({ ...hi, model: "gpt", tools, tool_choice: { type: "any", disable_parallel_tool_use: true } });
  expect(await response.json()).toMatchObject({
    content: [{ type: "tool_use", id: "call_1", name: "f", input: { city: "Oslo" } }],
    stop_reason: "tool_use",
  });
  expect(sent()).toMatchObject({
    model: "gpt-4o",
    tools: [{ type: "function", function: { name: "f", description: "d", parameters: { type: "object" } } }],
    tool_choice: "required",
    parallel_tool_calls: false,
  });
});

test("a model that cannot think is asked without an effort; nothing that only Anthropic knows reaches it", async () => {
  const { post, sent } = await open({ text: chatAnswer({ content: "ok" }) });
  const marked = [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }];
  const body = { ...hi, model: "gpt", thinking: { type: "enabled", budget_tokens: 2048 }, messages: [{ role: "user", content: marked }] };
  expect((await post({ ...body, metadata: { user_id: "u" }, context_management: { edits: [] } })).status).toBe(200);
  expect(sent()).toEqual({ model: "gpt-4o", max_tokens: 50, messages: [{ role: "user", content: "hi" }], user: "u" });
});

test("in a translated request to Anthropic marks, thinking and its seal survive the trip, and so do the caller's betas", async () => {
  const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
  const content = [thinking, { type: "text", text: "ok" }];
  const usage = { input_tokens: 3, cache_read_input_tokens: 4, cache_creation_input_tokens: 5, output_tokens: 6 };
  const answer = { type: "message", content, stop_reason: "stop_sequence", stop_sequence: "END", usage };
  const { post, sent, requests, secret } = await open({ text: JSON.stringify(answer) });
  const mark = { cache_control: { type: "ephemeral" } };
  const body = {
    ...hi,
    model: "claude",
    max_tokens: 4096,
    system: [{ type: "text", text: "Long.", ...mark }],
    thinking: { type: "enabled", budget_tokens: 1024 },
    stop_sequences: ["END"],
    tools: [{ name: "f", input_schema: { type: "object", properties: {} }, ...mark }],
    messages: [
      { role: "user", content: "go" },
      { role: "assistant", content: [thinking, { type: "tool_use", id: "t1", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "no", is_error: true, ...mark }] },
    ],
  };
  const response = await post(body, { "x-api-key": secret, "anthropic-beta": "interleaved-thinking-2025-05-14,context-1m-2025-08-07" });
  expect(await response.json()).toMatchObject({ content, stop_reason: "stop_sequence", stop_sequence: "END", usage });
  expect(sent()).toMatchObject({
    model: "claude-sonnet-4-5",
    system: body.system,
    thinking: body.thinking,
    tools: body.tools,
    stop_sequences: ["END"],
    messages: [
      { role: "user", content: [{ type: "text", text: "go" }] },
      body.messages[1],
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "no" }], is_error: true, ...mark }],
      },
    ],
  });
  expect(requests[0]?.headers["anthropic-beta"]).toBe("interleaved-thinking-2025-05-14");
});

test("a translated stream of Anthropic comes out as it went in: thinking, seals, text and call", async () => {
  const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const block = (index: number, content_block: object, ...deltas: object[]) =>
    event("content_block_start", { index, content_block }) +
    deltas.map((delta) => event("content_block_delta", { index, delta })).join("") +
    event("content_block_stop", { index });
  const middle =
    block(
      0,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "hm" },
      { type: "signature_delta", signature: "sig" },
    ) +
    block(1, { type: "redacted_thinking", data: "sealed" }) +
    block(2, { type: "text", text: "" }, { type: "text_delta", text: "one " }, { type: "text_delta", text: "two" }) +
    block(3, { type: "tool_use", id: "t1", name: "f", input: {} }, { type: "input_json_delta", partial_json: '{"a":1}' });
  const end =
    event("message_delta", {
      delta: { stop_reason: "stop_sequence", stop_sequence: "END" },
      usage: { input_tokens: 3, output_tokens: 6 },
    }) + event("message_stop", {});
  const { post } = await open({
    text: event("message_start", { message: { usage: { input_tokens: 3 } } }) + event("ping", {}) + middle + end,
  });
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const text = await (await post({ ...hi, model: "claude", max_tokens: 4096, stream: true, thinking })).text();
  const events = readNamedEvents(text);
  const isBlock = ({ type }: { type: string }) => type.startsWith("content_block");
  expect(events.filter(isBlock)).toEqual(readNamedEvents(middle));
  // Calls of tools say more than the text that ended them.
  expect(events.find(({ type }) => type === "message_delta")).toMatchObject({ delta: { stop_reason: "tool_use" } });
});

test("a stop sequence is named in a stream too", async () => {
  const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const text = [
    event("message_start", { message: { usage: { input_tokens: 3 } } }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "one" } }),
    event("content_block_stop", { index: 0 }),
    event("message_delta", { delta: { stop_reason: "stop_sequence", stop_sequence: "END" }, usage: { output_tokens: 1 } }),
    event("message_stop", {}),
  ];
  const { post } = await open({ text: text.join("") });
  const events = readNamedEvents(await (await post({ ...hi, model: "claude", stream: true, stop_sequences: ["END"] })).text());
  expect(events.find(({ type }) => type === "message_delta")).toMatchObject({
    delta: { stop_reason: "stop_sequence", stop_sequence: "END" },
  });
});

test("tokens are counted without a price: here, or by the provider where it counts itself", async () => {
  const { control, post } = await open();
  const count = { model: "echo", messages: hi.messages, system: "Be brief." };
  const local = await post(count, undefined, "/v1/messages/count_tokens");
  expect([local.status, await local.json()]).toEqual([200, { input_tokens: expect.any(Number) }]);
  expect([control.reserved.length, control.settled.size]).toEqual([0, 0]);
  const unknown = await post({ ...count, model: "nope" }, undefined, "/v1/messages/count_tokens");
  expect([unknown.status, await unknown.json()]).toMatchObject([404, { error: { type: "not_found_error" } }]);
  const narrow = { "x-api-key": control.addKey({ models: { names: ["claude"] } }).secret };
  const refused = await post(count, narrow, "/v1/messages/count_tokens");
  expect([refused.status, await refused.json()]).toMatchObject([
    403,
    { error: { type: "permission_error", message: expect.stringContaining("may not use the model echo") } },
  ]);
  const remote = await open({ text: '{"input_tokens":77}' });
  const counted = await remote.post({ ...count, model: "claude" }, undefined, "/v1/messages/count_tokens");
  expect([await counted.json(), remote.requests[0]?.url]).toEqual([{ input_tokens: 77 }, "http://upstream/v1/messages/count_tokens"]);
});
