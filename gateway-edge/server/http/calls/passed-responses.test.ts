import { readNamedEvents } from "../../../calls/dialects/dialect-fixture.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";
import { type ScriptedAnswer, scriptedSend } from "../testing/scripted-send-fixture.ts";

const edges: TestEdge[] = [];
afterAll(() => Promise.all(edges.map((edge) => edge.close())));

/** Searches have a price, so that they are offered. */
const WITH_SEARCH = { input: 1_000_000_000n, output: 2_000_000_000n, webSearch: 1_000_000_000_000n };
const SPEAKS = JSON.stringify({ supports_responses: true });
const DEPLOYMENTS = [
  deployment({ modelName: "gpt", providerKind: "openai", inferenceModelId: "gpt-4o", apiKey: "up", params: "{}" }, WITH_SEARCH),
  deployment({ modelName: "thinker", providerKind: "openai", inferenceModelId: "gpt-5", apiKey: "up", params: "{}" }),
  deployment({ modelName: "own", providerKind: "openai", inferenceModelId: "x", baseUrl: "http://own/v1", params: "{}" }),
  deployment({
    modelName: "own-speaks",
    providerKind: "openai",
    inferenceModelId: "x",
    baseUrl: "http://own/v1",
    params: "{}",
    info: SPEAKS,
  }),
  deployment({ modelName: "azure", providerKind: "azure", inferenceModelId: "d", baseUrl: "https://a.test/openai/v1", params: "{}" }),
  deployment({ modelName: "azure-old", providerKind: "azure", inferenceModelId: "d", baseUrl: "https://a.test", params: "{}" }),
  deployment({ modelName: "claude", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5", apiKey: "up", params: "{}" }),
  ...["mixed", "mixed"].map((modelName, index) => ({
    ...deployment(
      { modelName, providerKind: index ? "anthropic" : "openai", inferenceModelId: index ? "claude" : "gpt-4o", params: "{}" },
      WITH_SEARCH,
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
  const call = jsonCaller(edge.url, secret);
  return {
    control,
    requests,
    call,
    create: (body: object) => call("POST", "/v1/responses", { model: "gpt", ...body }),
    sent: (index = -1) => JSON.parse(String(requests.at(index)?.body)) as Fields,
    lastLog: () => [...control.settled.values()].at(-1),
  };
}

const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 130,
};
const search = { id: "ws_up1", type: "web_search_call", status: "completed", action: { type: "search", query: "q" } };
const thought = { id: "rs_up1", type: "reasoning", summary: [], encrypted_content: "gAAA" };
const message = (text: string) => ({
  id: "msg_up1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});
const upstreamResponse = (output: readonly Fields[], more: object = {}) => ({
  id: "resp_upstream",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-4o-2024-08-06",
  store: false,
  max_output_tokens: 4096,
  previous_response_id: null,
  metadata: {},
  error: null,
  incomplete_details: null,
  output,
  usage: USAGE,
  ...more,
});
const whole = (output: readonly Fields[], more?: object) => JSON.stringify(upstreamResponse(output, more));
const sse = (events: readonly Fields[]) =>
  events.map((event, sequence_number) => `event: ${event["type"]}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`).join("");
const STARTED = ["response.created", "response.in_progress"].map((type) => ({
  type,
  response: upstreamResponse([], { status: "in_progress", usage: null }),
}));
const delta = (text: string) => ({
  type: "response.output_text.delta",
  item_id: "msg_up1",
  output_index: 0,
  content_index: 0,
  delta: text,
  logprobs: [],
});
const ADDED = { type: "response.output_item.added", output_index: 0, item: { ...message(""), content: [], status: "in_progress" } };

test("a request goes on as it is to a server that speaks the API, and its answer comes back under our name, paid by its usage", async () => {
  const { requests, create, sent, call, lastLog } = await open([whole([search, message("found")])]);
  const asked = {
    input: "look it up",
    tools: [{ type: "web_search", search_context_size: "low" }],
    include: ["web_search_call.action.sources"],
    text: { format: { type: "text" }, verbosity: "low" },
    truncation: "auto",
    metadata: { a: "b" },
    caching: false,
  };
  const { status, json, headers } = await create(asked);
  expect(requests[0]).toMatchObject({ url: "https://api.openai.com/v1/responses", headers: { authorization: "Bearer up" } });
  const { metadata: _metadata, caching: _caching, ...passed } = asked;
  expect(sent()).toEqual({ ...passed, model: "gpt-4o", store: false, max_output_tokens: expect.any(Number) });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    model: "gpt",
    status: "completed",
    store: true,
    metadata: { a: "b" },
    max_output_tokens: null,
    usage: USAGE,
  });
  const suffix = String(json["id"]).replace("resp_", "");
  expect(json["output"]).toEqual([
    { ...search, id: `ws_${suffix}_0` },
    { ...message("found"), id: `msg_${suffix}_1` },
  ]);
  expect(JSON.stringify(json)).not.toContain("upstream");
  // 60 + 40 cached input (no price of its own) and 30 output, at 1 and 2 USD for a million, and a search at 1,000 USD for a million.
  expect(lastLog()).toMatchObject({
    endpoint: "/v1/responses",
    status: "success",
    cost: 1_160_000n,
    usage: { input: 60n, cachedInput: 40n, output: 10n, reasoning: 20n, source: "provider" },
  });
  expect(headers.get("x-gw-cost-nano")).toBe("1160000");
  const address = `/v1/responses/${String(json["id"])}`;
  expect((await call("GET", address)).json).toEqual(json);
  expect((await call("GET", `${address}/input_items`)).json).toMatchObject({ data: [{ type: "message", role: "user" }] });
  expect((await call("DELETE", address)).json).toMatchObject({ deleted: true });
  expect((await call("GET", address)).status).toBe(404);
});

test("a conversation goes on by our own record: spelled out, with thoughts sealed, and only for the team it is of", async () => {
  const { control, create, sent, call } = await open([
    whole([thought, search, message("one")]),
    whole([message("two")]),
    whole([message("three")]),
  ]);
  const first = (await create({ model: "thinker", input: "first", metadata: { tags: ["x"] } })).json;
  expect(sent()["include"]).toEqual(["reasoning.encrypted_content"]);
  expect(JSON.stringify(first)).not.toContain("gAAA");
  const output = first["output"] as Fields[];
  const { json: second } = await create({ model: "thinker", input: "second", previous_response_id: first["id"] });
  expect([second["previous_response_id"], sent()["previous_response_id"]]).toEqual([first["id"], undefined]);
  const { id: _id, ...anonymous } = thought;
  expect(sent()["input"]).toEqual([
    { type: "message", role: "user", content: [{ type: "input_text", text: "first" }] },
    anonymous,
    { ...search, id: output[1]?.["id"] },
    { ...message("one"), id: output[2]?.["id"] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "second" }] },
  ]);
  expect(
    (
      await create({
        input: [
          { type: "item_reference", id: output[2]?.["id"] },
          { role: "user", content: "and?" },
        ],
      })
    ).status,
  ).toBe(200);
  expect(sent()["input"]).toMatchObject([{ content: [{ text: "one" }] }, { content: "and?" }]);
  const stranger = control.addKey({ teamId: "team_2", organizationId: "org_2" }).secret;
  expect((await call("GET", `/v1/responses/${String(first["id"])}`, undefined, stranger)).status).toBe(404);
  const body = { model: "gpt", input: "x", previous_response_id: first["id"] };
  expect((await call("POST", "/v1/responses", body, stranger)).status).toBe(404);
});

test("events of a stream pass with their numbers and our names; the last one comes after payment and storage", async () => {
  const done = upstreamResponse([message("one two")]);
  const events = [...STARTED, ADDED, delta("one "), delta("two"), { type: "response.completed", response: done }];
  const { create, sent, call, lastLog } = await open([sse(events)]);
  const seen = readNamedEvents((await create({ input: "x", stream: true })).text);
  expect(sent()).toMatchObject({ stream: true, store: false });
  expect(seen.map((event) => [event["type"], event["sequence_number"]])).toEqual(events.map(({ type }, index) => [type, index]));
  const last = seen.at(-1) as unknown as { response: Fields };
  const id = String(last.response["id"]);
  expect(new Set(seen.flatMap((event) => (event["response"] ? [(event["response"] as Fields)["id"]] : [])))).toEqual(new Set([id]));
  const name = `msg_${id.replace("resp_", "")}_0`;
  expect(seen.filter((event) => "item_id" in event).map((event) => event["item_id"])).toEqual([name, name]);
  expect(last.response).toMatchObject({ model: "gpt", output: [{ id: name }], usage: { ...USAGE, cost_nano: 160_000 } });
  expect(JSON.stringify(seen)).not.toMatch(/upstream|_up1/);
  expect(lastLog()).toMatchObject({ status: "success", cost: 160_000n });
  expect((await call("GET", `/v1/responses/${id}`)).json).toMatchObject({ output: [{ id: name }], usage: USAGE });
});

test("a stream that breaks is paid for what was delivered and ends with response.failed; one that fails unseen is a real status", async () => {
  const failed = {
    type: "response.failed",
    response: upstreamResponse([], { status: "failed", error: { code: "server_error", message: "Oh." } }),
  };
  const { create, lastLog } = await open([
    { body: sse([...STARTED, ADDED, delta("one two three four")]), breaks: true },
    sse([...STARTED, ADDED, delta("one two three four"), failed]),
    sse([...STARTED, failed]),
    whole([], { status: "failed", error: { code: "rate_limit_exceeded", message: "Slow down." } }),
  ]);
  const body = { input: "x", stream: true, num_retries: 0 };
  const broken = readNamedEvents((await create(body)).text).at(-1);
  expect(broken).toMatchObject({
    type: "response.failed",
    sequence_number: 4,
    response: { status: "failed", error: { code: "server_error" } },
  });
  expect(lastLog()).toMatchObject({ status: "error", usage: { source: "estimated" } });
  expect(lastLog()?.usage?.output).toBeGreaterThan(2n);
  expect(readNamedEvents((await create(body)).text).at(-1)).toMatchObject({ type: "response.failed" });
  expect(lastLog()).toMatchObject({ status: "error", cost: 160_000n, usage: { source: "provider" } });
  const early = await create(body);
  expect([early.status, lastLog()?.cost]).toEqual([503, 0n]);
  expect((await create({ input: "x", num_retries: 0 })).status).toBe(429);
});

test.each([
  ["gpt", "https://api.openai.com/v1/responses"],
  ["own", "http://own/v1/chat/completions"],
  ["own-speaks", "http://own/v1/responses"],
  ["azure", "https://a.test/openai/v1/responses"],
  ["azure-old", expect.stringMatching(/^https:\/\/a\.test\/openai\/deployments\/d\/chat\/completions/)],
])("%s is asked at %s", async (model, url) => {
  const { create, requests } = await open([]);
  await create({ model, input: "x", num_retries: 0 });
  expect(requests[0]?.url).toEqual(url);
});

test("in a group of both kinds a chat model takes what chat has words for, and only the other what it has not", async () => {
  const { create, requests } = await open([
    { status: 500, body: "{}" },
    { status: 500, body: "{}" },
    { status: 500, body: "{}" },
  ]);
  await create({ model: "mixed", input: "x", num_retries: 1 });
  expect(new Set(requests.map(({ url }) => new URL(url).host))).toEqual(new Set(["api.openai.com", "api.anthropic.com"]));
  const { create: again, requests: asked } = await open(Array.from({ length: 20 }, () => whole([message("ok")])));
  for (let index = 0; index < 10; index++)
    expect((await again({ model: "mixed", input: "x", tools: [{ type: "web_search" }] })).status).toBe(200);
  expect(new Set(asked.map(({ url }) => new URL(url).host))).toEqual(new Set(["api.openai.com"]));
  const refused = await again({ model: "claude", input: "x", tools: [{ type: "web_search" }] });
  expect([refused.status, refused.json]).toMatchObject([400, { error: { param: "tools[0].type" } }]);
});

test("where guardrails hold, a call is made as a chat, so that they read all of it", async () => {
  const guardrails = [
    { guardrail_name: "words", litellm_params: { guardrail: "word-list", mode: "post_call", words: ["secret"], default_on: true } },
  ];
  const chat = JSON.stringify({ choices: [{ index: 0, message: { content: "a secret" }, finish_reason: "stop" }], usage: {} });
  const { create, requests } = await open([chat], { guardrails });
  const blocked = await create({ input: "x" });
  expect([blocked.status, requests[0]?.url]).toEqual([400, "https://api.openai.com/v1/chat/completions"]);
  const refused = await create({ input: "x", tools: [{ type: "web_search" }] });
  expect([refused.status, refused.json]).toMatchObject([
    400,
    { error: { param: "tools[0].type", message: expect.stringMatching(/^Guardrails apply/) } },
  ]);
  expect(requests).toHaveLength(1);
});
