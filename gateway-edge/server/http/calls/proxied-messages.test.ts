import Anthropic from "@anthropic-ai/sdk";
import { readNamedEvents } from "../../../calls/dialects/dialect-fixture.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { type ScriptedAnswer, scriptedSend } from "../testing/scripted-send-fixture.ts";

const edges: TestEdge[] = [];
afterAll(() => Promise.all(edges.map((edge) => edge.close())));

const upstream = { apiKey: "up", params: "{}" };
/** Code execution has a price, so that it is offered. */
const WITH_CODE = { input: 1_000_000_000n, output: 2_000_000_000n, fees: { codeSession: 1_000_000n } };
const DEPLOYMENTS = [
  deployment({ modelName: "claude", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5", ...upstream }, WITH_CODE),
  deployment({
    modelName: "claude-off",
    providerKind: "anthropic",
    inferenceModelId: "claude-sonnet-4-5",
    ...upstream,
    info: JSON.stringify({ supports_messages: false }),
  }),
  deployment({
    modelName: "claude-set",
    providerKind: "anthropic",
    inferenceModelId: "claude-sonnet-4-5",
    apiKey: "up",
    params: JSON.stringify({ temperature: 0.3, anthropic_beta: ["own-2026-01-01"] }),
  }),
  deployment(
    { modelName: "claude-search", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5", ...upstream },
    {
      input: 3_000_000_000n,
      output: 15_000_000_000n,
      cachedInput: 300_000_000n,
      cacheWrite: 3_750_000_000n,
      cacheWriteHour: 6_000_000_000n,
      webSearch: 10_000_000_000_000n,
    },
  ),
  deployment({ modelName: "gpt", providerKind: "openai", inferenceModelId: "gpt-4o", ...upstream }),
  ...["mixed", "mixed"].map((modelName, index) => ({
    ...deployment(
      {
        modelName,
        providerKind: index ? "anthropic" : "openai",
        inferenceModelId: index ? "claude-sonnet-4-5" : "gpt-4o",
        ...upstream,
      },
      WITH_CODE,
    ),
    id: `dep_mixed_${index}`,
  })),
];

async function open(answers: readonly ScriptedAnswer[], settings?: object) {
  const control = new FakeControl();
  const { send, requests } = scriptedSend(answers);
  control.deployments = DEPLOYMENTS;
  if (settings) control.settings = JSON.stringify(settings);
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const post = async (body: object, headers: Record<string, string> = {}, path = "/v1/messages") => {
    const response = await edge.post(path, body, { "x-api-key": secret, ...headers });
    const text = await response.text();
    return { status: response.status, text, headers: response.headers, json: text.startsWith("{") ? (JSON.parse(text) as Fields) : {} };
  };
  return {
    control,
    requests,
    post,
    client: new Anthropic({ apiKey: secret, baseURL: edge.url, maxRetries: 0 }),
    sent: (index = -1) => JSON.parse(String(requests.at(index)?.body)) as Fields,
    lastLog: () => [...control.settled.values()].at(-1),
  };
}

const hi = { model: "claude", max_tokens: 1024, messages: [{ role: "user" as const, content: "look it up" }] };
const TOOLS = [
  { type: "web_fetch_20250910", name: "web_fetch", max_uses: 2 },
  { type: "code_execution_20250825", name: "code_execution" },
  { name: "f", input_schema: { type: "object" }, defer_loading: true, strict: true, allowed_callers: ["code_execution_20250825"] },
];
const CONTENT = [
  { type: "thinking", thinking: "hm", signature: "sig" },
  { type: "server_tool_use", id: "srvtoolu_1", name: "web_fetch", input: { url: "https://a.test" }, caller: { type: "direct" } },
  {
    type: "web_fetch_tool_result",
    tool_use_id: "srvtoolu_1",
    content: { type: "web_fetch_result", url: "https://a.test", content: { type: "document", source: { type: "text", data: "page" } } },
  },
  {
    type: "text",
    text: "found",
    citations: [{ type: "char_location", cited_text: "page", document_index: 0, start_char_index: 0, end_char_index: 4 }],
  },
  { type: "tool_use", id: "toolu_1", name: "f", input: { a: [1, 2] }, caller: { type: "code_execution_20250825", tool_id: "srvtoolu_2" } },
];
const USAGE = {
  input_tokens: 100,
  cache_read_input_tokens: 40,
  cache_creation_input_tokens: 10,
  cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 0 },
  output_tokens: 30,
  server_tool_use: { web_search_requests: 0, web_fetch_requests: 1 },
  service_tier: "standard",
};
const message = (more: object = {}) => ({
  id: "msg_upstream",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5-20250929",
  content: CONTENT,
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: USAGE,
  container: { id: "container_1", expires_at: "2026-01-01T00:00:00Z" },
  context_management: { applied_edits: [] },
  ...more,
});
const whole = (more?: object) => JSON.stringify(message(more));
const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })} \n\n`;
const START = event("message_start", { message: message({ content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } }) });
const block = (index: number, content_block: object, ...deltas: object[]) =>
  event("content_block_start", { index, content_block }) +
  deltas.map((delta) => event("content_block_delta", { index, delta })).join("") +
  event("content_block_stop", { index });
const BLOCKS =
  block(
    0,
    { ...CONTENT[0], thinking: "", signature: "" },
    { type: "thinking_delta", thinking: "hm" },
    { type: "signature_delta", signature: "sig" },
  ) +
  block(1, { ...CONTENT[1], input: {} }, { type: "input_json_delta", partial_json: '{"url":"https://a.test"}' }) +
  block(2, CONTENT[2] as object) +
  block(
    3,
    { type: "text", text: "", citations: [] },
    { type: "text_delta", text: "fou" },
    { type: "citations_delta", citation: (CONTENT[3] as { citations: object[] }).citations[0] },
    { type: "text_delta", text: "nd" },
  ) +
  block(
    4,
    { ...CONTENT[4], input: {} },
    { type: "input_json_delta", partial_json: '{"a":' },
    { type: "input_json_delta", partial_json: "[1,2]}" },
  );
const END =
  event("message_delta", {
    delta: { stop_reason: "tool_use", stop_sequence: null, container: message().container },
    usage: USAGE,
    context_management: { applied_edits: [] },
  }) + event("message_stop");
const STREAM = START + event("ping") + BLOCKS + END;

test("a request goes to Anthropic as it is, and its message comes back under our name, with every block and field", async () => {
  const { requests, post, sent, lastLog } = await open([whole()]);
  const asked = {
    ...hi,
    messages: [
      { role: "user", content: [{ type: "container_upload", file_id: "file_1" }] },
      { role: "assistant", content: CONTENT.slice(1, 3) },
      {
        role: "user",
        content: [
          { type: "text", text: "" },
          { type: "hologram", more: 1 },
        ],
      },
    ],
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral", ttl: "1h" } }],
    tools: TOOLS,
    mcp_servers: [{ type: "url", url: "https://mcp.test", name: "m" }],
    container: "container_1",
    context_management: { edits: [{ type: "compact_20260112" }] },
    thinking: { type: "enabled", budget_tokens: 1000 },
  };
  const betas = "code-execution-2025-08-25,mcp-client-2025-04-04,context-1m-2025-08-07";
  const { status, json, headers } = await post(
    { ...asked, metadata: { user_id: "u1", tags: ["x"] }, caching: false, num_retries: 0 },
    { "anthropic-beta": betas },
  );
  expect(requests[0]?.url).toBe("https://api.anthropic.com/v1/messages");
  expect(requests[0]?.headers).toMatchObject({ "x-api-key": "up", "anthropic-version": "2023-06-01", "anthropic-beta": betas });
  expect(sent()).toEqual({ ...asked, model: "claude-sonnet-4-5", metadata: { user_id: "u1" } });
  expect([status, json]).toEqual([200, { ...message(), id: expect.stringMatching(/^msg_(?!upstream)/), model: "claude" }]);
  // 150 tokens in (no price of their own for cached ones) and 30 out, at 1 and 2 USD for a million.
  expect(lastLog()).toMatchObject({
    endpoint: "/v1/messages",
    type: "chat",
    status: "success",
    cost: 210_000n,
    endUser: "u1",
    tags: ["x"],
    usage: { input: 100n, cachedInput: 40n, cacheWrite: 10n, output: 30n, source: "provider" },
  });
  expect(headers.get("x-gw-cost-nano")).toBe("210000");
});

test("events of a stream pass byte for byte; only the message's name and the cost are ours, and the end comes after payment", async () => {
  const { post, sent, lastLog } = await open([STREAM]);
  const { text } = await post({ ...hi, tools: TOOLS, stream: true });
  expect(sent()).toEqual({ ...hi, tools: TOOLS, stream: true, model: "claude-sonnet-4-5" });
  expect(text).toContain(BLOCKS);
  const seen = readNamedEvents(text);
  expect(seen.map(({ type }) => type)).toEqual(readNamedEvents(STREAM).map(({ type }) => type));
  expect(seen[0]).toMatchObject({
    message: { id: expect.stringMatching(/^msg_(?!upstream)/), model: "claude", container: { id: "container_1" } },
  });
  const [, sentDelta] = readNamedEvents(STREAM).slice(-3);
  expect(seen.at(-2)).toEqual({ ...sentDelta, usage: { ...USAGE, cost_nano: 210_000 } });
  expect(lastLog()).toMatchObject({ status: "success", cost: 210_000n, usage: { source: "provider" } });
});

test("the official client's beta helpers get what the upstream sent, whole and streamed", async () => {
  const { client, requests } = await open([whole(), STREAM]);
  const asked = { ...hi, betas: ["web-fetch-2025-09-10"], tools: TOOLS } as unknown as Parameters<typeof client.beta.messages.stream>[0];
  const created = (await client.beta.messages.create({ ...asked, stream: false })) as unknown as Fields;
  const streamed = (await client.beta.messages.stream(asked).finalMessage()) as unknown as Fields;
  for (const answer of [created, streamed]) {
    expect(answer["content"]).toEqual(CONTENT);
    expect(answer).toMatchObject({ model: "claude", stop_reason: "tool_use", container: { id: "container_1" } });
    expect(answer["usage"]).toMatchObject(USAGE);
  }
  expect(requests.map(({ headers }) => headers["anthropic-beta"])).toEqual(["web-fetch-2025-09-10", "web-fetch-2025-09-10"]);
});

test("what Anthropic samples beside the message is billed with it: a compaction", async () => {
  const iteration = (type: string, input_tokens: number, output_tokens: number) => ({ type, input_tokens, output_tokens });
  const usage = {
    input_tokens: 224,
    output_tokens: 22,
    iterations: [iteration("compaction", 83_555, 1500), iteration("message", 224, 22)],
  };
  const { post, lastLog } = await open([whole({ usage })]);
  expect((await post(hi)).json["usage"]).toEqual(usage);
  expect(lastLog()?.usage).toMatchObject({ input: 83_779n, output: 1522n, source: "provider" });
});

test("two web searches, cache writes of both durations and a compaction are billed at their own prices, by messages and by chat", async () => {
  const usage = {
    input_tokens: 100,
    cache_read_input_tokens: 50,
    cache_creation_input_tokens: 30,
    cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
    output_tokens: 40,
    server_tool_use: { web_search_requests: 2 },
    iterations: [
      { type: "compaction", input_tokens: 1000, output_tokens: 60, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      { type: "message", input_tokens: 100, output_tokens: 40 },
    ],
  };
  const { post, control, lastLog } = await open([whole({ usage }), whole({ usage })]);
  const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }];
  await post({ ...hi, model: "claude-search", tools });
  // (1100 × 3 + 50 × 0.3 + 10 × 3.75 + 20 × 6 + 100 × 15) micro-USD and two searches at a cent.
  const cost = 4_972_500n + 20_000_000n;
  const row = { cost, usage: { input: 1100n, cachedInput: 50n, cacheWrite: 30n, cacheWriteHour: 20n, output: 100n } };
  expect(lastLog()).toMatchObject({ ...row, usage: { ...row.usage, amounts: { amounts: [{ unit: "search", input: 2n, output: 0n }] } } });
  // The reservation has room for the three searches that the caller allows.
  expect(control.intents.at(-1)?.worstCase).toBeGreaterThan(30_000_000n);
  await post({ ...hi, model: "claude-search", tools }, {}, "/v1/chat/completions");
  expect(lastLog()).toMatchObject(row);
});

test("what has no price is refused before it is sent, with the way to price it", async () => {
  const { post, requests } = await open([]);
  const tools = [{ type: "web_search_20250305", name: "web_search" }];
  for (const path of ["/v1/messages", "/v1/chat/completions"]) {
    const { status, text } = await post({ ...hi, tools }, {}, path);
    expect([status, text]).toEqual([400, expect.stringMatching(/search_context_cost_per_query.*pricing\.webSearch/)]);
  }
  for (const [fields, name] of [
    [{ speed: "fast" }, "speed"],
    [{ inference_geo: "us" }, "inference_geo"],
    [{ tools: [{ type: "advisor_20260301", name: "advisor", model: "claude-opus-4-8" }] }, "tools[0].type"],
  ] as const) {
    const { status, json } = await post({ ...hi, ...fields });
    expect([status, json]).toMatchObject([400, { type: "error", error: { message: expect.stringContaining(name) } }]);
  }
  expect(requests).toHaveLength(0);
});

test("a stream that breaks is billed for what was delivered and ends with an error event; one that fails unseen has a status", async () => {
  const overloaded = event("error", { error: { type: "overloaded_error", message: "Overloaded" } });
  const text = block(0, { type: "text", text: "" }, { type: "text_delta", text: "one two three four" });
  const { post, lastLog } = await open([
    { body: START + text, breaks: true },
    START + overloaded,
    JSON.stringify({ type: "error", error: {} }),
  ]);
  const body = { ...hi, stream: true, num_retries: 0 };
  const broken = readNamedEvents((await post(body)).text);
  expect(broken.at(-1)).toMatchObject({ type: "error", error: { type: "overloaded_error" } });
  expect(lastLog()).toMatchObject({ status: "error", usage: { source: "estimated", output: 4n } });
  expect([(await post(body)).status, lastLog()?.cost]).toEqual([529, 0n]);
  expect((await post({ ...hi, num_retries: 0 })).status).toBe(529);
});

test("a stream beyond its max_tokens is ended by the gateway, well-formed", async () => {
  const long = Array.from({ length: 50 }, () => ({ type: "text_delta", text: "a rather long sentence " }));
  const { post, lastLog } = await open([START + block(0, { type: "text", text: "" }, ...long) + END]);
  const seen = readNamedEvents((await post({ ...hi, max_tokens: 2, stream: true })).text);
  expect(seen.slice(-3)).toMatchObject([
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: { cost_nano: Number(lastLog()?.cost) } },
    { type: "message_stop" },
  ]);
  expect(lastLog()).toMatchObject({ status: "success", usage: { source: "estimated" } });
});

test("in a group of both kinds a chat model takes what chat can express, and only the other what it cannot", async () => {
  const failed = { status: 500, body: "{}" };
  const { post, requests } = await open([failed, failed]);
  await post({ ...hi, model: "mixed", num_retries: 1 });
  expect(new Set(requests.map(({ url }) => new URL(url).host))).toEqual(new Set(["api.openai.com", "api.anthropic.com"]));
  const second = await open(Array.from({ length: 6 }, () => whole()));
  for (let index = 0; index < 6; index++) expect((await second.post({ ...hi, model: "mixed", tools: TOOLS })).status).toBe(200);
  expect(new Set(second.requests.map(({ url }) => new URL(url).host))).toEqual(new Set(["api.anthropic.com"]));
  const refused = await second.post({ ...hi, model: "gpt", tools: TOOLS });
  expect([refused.status, refused.json]).toMatchObject([400, { type: "error", error: { type: "invalid_request_error" } }]);
});

test("a fallback to another provider gets the translated request", async () => {
  const chat = JSON.stringify({ choices: [{ index: 0, message: { content: "ok" }, finish_reason: "stop" }], usage: {} });
  const { post, requests, sent } = await open([{ status: 529, body: "{}" }, chat]);
  const { json } = await post({ ...hi, num_retries: 0, fallbacks: ["gpt"] });
  expect(requests.map(({ url }) => new URL(url).host)).toEqual(["api.anthropic.com", "api.openai.com"]);
  expect(sent()).toMatchObject({ model: "gpt-4o", messages: [{ role: "user", content: "look it up" }] });
  expect(json).toMatchObject({ model: "gpt", content: [{ type: "text", text: "ok" }], stop_reason: "end_turn" });
});

test("where guardrails apply, the request is translated, so that they read all of it", async () => {
  const guardrails = [
    { guardrail_name: "words", litellm_params: { guardrail: "word-list", mode: "post_call", words: ["found"], default_on: true } },
  ];
  const { post, requests } = await open([whole()], { guardrails });
  expect((await post(hi)).status).toBe(400);
  const refused = await post({ ...hi, messages: [{ role: "user", content: [{ type: "container_upload", file_id: "f" }] }] });
  expect([refused.status, refused.json]).toMatchObject([400, { error: { message: expect.stringMatching(/^Guardrails apply/) } }]);
  expect(requests).toHaveLength(1);
});

test("answers are cached as Anthropic wrote them, whole and streamed, apart from chat and from requests with betas", async () => {
  const { post, requests, control } = await open([whole(), STREAM, whole()], { litellm_settings: { cache: true } });
  const first = await post(hi);
  const again = await post(hi);
  expect(again.json).toEqual({ ...first.json, id: expect.any(String) });
  expect([requests.length, [...control.settled.values()].map(({ cacheHit }) => cacheHit)]).toEqual([1, [false, true]]);
  const other = { ...hi, max_tokens: 1000, stream: true };
  const [streamed, replayed] = [await post(other), await post(other)];
  expect(requests).toHaveLength(2);
  const assembled = (text: string) =>
    readNamedEvents(text).filter(({ type }) => type === "content_block_start" || type === "message_delta");
  expect(assembled(replayed.text).length).toBe(assembled(streamed.text).length);
  // The whole answer of a streamed request is the same message.
  expect((await post({ ...other, stream: false })).json).toMatchObject({ content: CONTENT, stop_reason: "tool_use", usage: USAGE });
  expect(requests).toHaveLength(2);
  await post(hi, { "anthropic-beta": "context-1m-2025-08-07" });
  expect(requests).toHaveLength(3);
});

test("the operator's defaults apply, and supports_messages: false translates", async () => {
  const { post, sent, requests } = await open([whole(), whole(), whole(), whole(), whole()]);
  await post({ ...hi, model: "claude-set" }, { "anthropic-beta": "b-2025-01-01" });
  expect([sent()["temperature"], requests[0]?.headers["anthropic-beta"]]).toEqual([0.3, "own-2026-01-01,b-2025-01-01"]);
  await post({ ...hi, model: "claude-set", temperature: 1 });
  expect(sent()["temperature"]).toBe(1);
  const lowered = { ...hi, max_tokens: 100_000, drop_params: true };
  await post({ ...lowered, thinking: { type: "enabled", budget_tokens: 90_000 } });
  expect(sent()).toMatchObject({ max_tokens: 64_000, thinking: { budget_tokens: 51_200 } });
  await post(lowered);
  expect(sent()).toEqual({ ...hi, model: "claude-sonnet-4-5", max_tokens: 64_000 });
  const { json } = await post({ ...hi, model: "claude-off" });
  expect(json["content"]).toEqual([
    CONTENT[0],
    { type: "text", text: "found" },
    { type: "tool_use", id: "toolu_1", name: "f", input: { a: [1, 2] } },
  ]);
});

test.each([
  [{ messages: [] }, "messages"],
  [{ messages: [{ role: "user", content: [{ text: "no type" }] }] }, "messages[0].content"],
  [{ max_tokens: undefined }, "max_tokens"],
])("a request without a required field is refused in Anthropic's format: %j", async (fields, name) => {
  const { post, requests } = await open([]);
  const { status, json } = await post({ ...hi, ...fields });
  expect([status, json]).toMatchObject([
    400,
    { type: "error", error: { type: "invalid_request_error", message: expect.stringContaining(name) } },
  ]);
  expect(requests).toHaveLength(0);
});

test("tokens of blocks that only Anthropic has are counted by Anthropic", async () => {
  const { post, sent, requests } = await open(['{"input_tokens":77}']);
  const { max_tokens: _limit, ...counted } = { ...hi, tools: TOOLS, mcp_servers: [] };
  const { json } = await post(counted, { "anthropic-beta": "mcp-client-2025-04-04" }, "/v1/messages/count_tokens");
  expect([json, sent()]).toEqual([{ input_tokens: 77 }, { ...counted, model: "claude-sonnet-4-5" }]);
  expect(requests[0]?.headers["anthropic-beta"]).toBe("mcp-client-2025-04-04");
});
