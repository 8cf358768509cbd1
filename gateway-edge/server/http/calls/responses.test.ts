import { readNamedEvents } from "../../../calls/dialects/dialect-fixture.ts";
import type { Fields, Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";

const edges: TestEdge[] = [];
afterAll(() => Promise.all(edges.map((edge) => edge.close())));

const upstream = { baseUrl: "http://upstream/v1", apiKey: "up", params: "{}" };
const DEPLOYMENTS = [
  deployment({ modelName: "gpt", providerKind: "openai", inferenceModelId: "gpt-4o", ...upstream }),
  deployment({ modelName: "claude", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5", ...upstream }),
];

/** An edge in front of an upstream that says these texts, one for each request; without them the built-in echo model is there. */
async function open(texts?: readonly string[], { breaks = false } = {}) {
  const control = new FakeControl();
  const requests: UpstreamRequest[] = [];
  const send: Send = async (request) => {
    requests.push(request);
    const text = texts?.[requests.length - 1] ?? "{}";
    return {
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text);
        if (breaks) throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      })(),
    };
  };
  if (texts) control.deployments = DEPLOYMENTS;
  const edge = await startEdge(control, texts ? { send } : {});
  edges.push(edge);
  const { secret } = control.addKey();
  const call = jsonCaller(edge.url, secret);
  return {
    control,
    call,
    create: (body: object) => call("POST", "/v1/responses", { model: "echo", ...body }),
    sent: (index = -1) => JSON.parse(String(requests.at(index)?.body)) as Fields,
  };
}

const chatAnswer = (message: object, finish_reason = "stop") =>
  JSON.stringify({ choices: [{ index: 0, message, finish_reason }], usage: { prompt_tokens: 5, completion_tokens: 2 } });
const lastLog = (control: FakeControl) => [...control.settled.values()].at(-1);
const textOf = ({ output }: Fields) => (output as { content: { text: string }[] }[]).map(({ content }) => content[0]?.text).join("");

test("a response is made by any chat model, billed, stored before it is sent, and retrieved, listed and deleted by its id", async () => {
  const { control, call, create } = await open();
  for (const path of ["/responses", "/v1/responses"]) {
    const { status, json, headers } = await call("POST", path, { model: "echo", input: "one two", metadata: { a: "b" } });
    expect([status, textOf(json), json["status"], json["metadata"]]).toEqual([200, "one two", "completed", { a: "b" }]);
    expect(headers.get("x-gw-cost-nano")).toBe(String(lastLog(control)?.cost));
    expect((await call("GET", `${path}/${String(json["id"])}`)).json).toEqual(json);
  }
  expect([control.settled.size, lastLog(control)?.endpoint]).toEqual([2, "/v1/responses"]);
  const { json } = await create({
    input: [
      { role: "user", content: "a" },
      { role: "user", content: [{ type: "input_text", text: "b" }] },
    ],
  });
  const address = `/v1/responses/${String(json["id"])}`;
  const { json: list } = await call("GET", `${address}/input_items?order=asc&limit=1`);
  expect(list).toMatchObject({ object: "list", data: [{ type: "message", role: "user", content: "a" }], has_more: true });
  const { json: rest } = await call("GET", `${address}/input_items?order=asc&after=${String(list["last_id"])}`);
  expect(rest).toMatchObject({ data: [{ content: [{ type: "input_text", text: "b" }] }], has_more: false });
  expect((await call("GET", `${address}/input_items?after=msg_other`)).json).toMatchObject({ error: { param: "after" } });
  expect((await call("POST", `${address}/cancel`)).status).toBe(400);
  expect((await call("DELETE", address)).json).toEqual({ id: json["id"], object: "response", deleted: true });
  expect([(await call("GET", address)).status, (await call("DELETE", address)).status]).toEqual([404, 404]);
});

test("a response that is not to be stored is not there; another team's is as if it were not", async () => {
  const { control, call, create } = await open();
  const unstored = (await create({ input: "x", store: false })).json;
  expect([unstored["store"], (await call("GET", `/v1/responses/${String(unstored["id"])}`)).status]).toEqual([false, 404]);
  const { json } = await create({ input: "x" });
  const stranger = control.addKey({ teamId: "team_2", organizationId: "org_2" });
  const address = `/v1/responses/${String(json["id"])}`;
  for (const [method, path] of [
    ["GET", address],
    ["DELETE", address],
    ["GET", `${address}/input_items`],
    ["POST", `${address}/cancel`],
  ] as const) {
    expect([method, (await call(method, path, undefined, stranger.secret)).status]).toEqual([method, 404]);
  }
  const continued = await call("POST", "/v1/responses", { model: "echo", input: "y", previous_response_id: json["id"] }, stranger.secret);
  expect(continued.status).toBe(404);
});

test("a conversation goes on from a stored response, without its instructions; from an unknown one it does not", async () => {
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
  const answers = [
    chatAnswer({ content: "Let me look.", tool_calls: [call] }, "tool_calls"),
    chatAnswer({ content: "7" }),
    chatAnswer({ content: "8" }),
  ];
  const { create, sent } = await open(answers);
  const tools = [{ type: "function", name: "f", parameters: { type: "object" } }];
  const first = (await create({ model: "gpt", input: "weather?", instructions: "Be brief.", tools })).json;
  expect(first).toMatchObject({
    status: "completed",
    output: [
      { type: "message", id: expect.stringMatching(/^msg_/) },
      { type: "function_call", id: expect.stringMatching(/^fc_/), call_id: "call_1", name: "f", arguments: "{}", status: "completed" },
    ],
  });
  const output = { type: "function_call_output", call_id: "call_1", output: "7 degrees" };
  const second = (await create({ model: "gpt", input: [output], previous_response_id: first["id"], tools })).json;
  const before = [
    { role: "user", content: "weather?" },
    { role: "assistant", content: "Let me look.", tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "7 degrees" },
  ];
  expect(sent()["messages"]).toEqual(before);
  expect((await create({ model: "gpt", input: "and now?", previous_response_id: second["id"] })).status).toBe(200);
  expect(sent()["messages"]).toEqual([...before, { role: "assistant", content: "7" }, { role: "user", content: "and now?" }]);
  const unknown = await create({ model: "gpt", input: "x", previous_response_id: "resp_nope" });
  expect([unknown.status, unknown.json]).toMatchObject([
    404,
    { error: { param: "previous_response_id", message: expect.stringMatching(/resp_nope/) } },
  ]);
});

test("an item of a stored response can be named instead of repeated", async () => {
  const { create, sent } = await open([chatAnswer({ content: "pong" }), chatAnswer({ content: "ok" })]);
  const first = (await create({ model: "gpt", input: "ping" })).json as unknown as { output: { id: string }[] };
  const reference = { type: "item_reference", id: first.output[0]?.id };
  expect(
    (await create({ model: "gpt", input: [{ role: "user", content: "ping" }, reference, { role: "user", content: "more" }] })).status,
  ).toBe(200);
  expect(sent()["messages"]).toEqual([
    { role: "user", content: "ping" },
    { role: "assistant", content: "pong" },
    { role: "user", content: "more" },
  ]);
  const unknown = await create({ model: "gpt", input: [{ type: "item_reference", id: "msg_0123_0" }] });
  expect([unknown.status, unknown.json]).toMatchObject([404, { error: { param: "input[0].id" } }]);
});

test("thinking of Claude's goes back to it with its seal, stored or carried by the client", async () => {
  const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
  const answer = {
    type: "message",
    content: [thinking, { type: "tool_use", id: "t1", name: "f", input: {} }],
    stop_reason: "tool_use",
    usage: {},
  };
  const { create, sent } = await open([1, 2, 3, 4].map(() => JSON.stringify(answer)));
  const include = ["reasoning.encrypted_content"];
  const body = { model: "claude", reasoning: { effort: "low" }, tools: [{ type: "function", name: "f" }] };
  const output = { type: "function_call_output", call_id: "t1", output: "no" };
  const expected = expect.objectContaining({ role: "assistant", content: [thinking, expect.objectContaining({ type: "tool_use" })] });
  const stored = (await create({ ...body, input: "go" })).json;
  expect(JSON.stringify(stored)).not.toContain("encrypted_content");
  await create({ ...body, input: [output], previous_response_id: stored["id"] });
  expect(sent()["messages"]).toContainEqual(expected);
  const carried = (await create({ ...body, input: "go", include, store: false })).json;
  await create({ ...body, input: [{ role: "user", content: "go" }, ...(carried["output"] as Fields[]), output] });
  expect(sent()["messages"]).toContainEqual(expected);
});

test("a stream is numbered, ends with the whole response, and has stored it by then", async () => {
  const { control, call, create } = await open();
  const { text, headers } = await create({ input: "one two three", stream: true });
  const events = readNamedEvents(text);
  expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, index) => index));
  const last = events.at(-1) as unknown as Fields & { response: Fields };
  expect([last["type"], textOf(last.response), headers.get("content-type")]).toEqual([
    "response.completed",
    "one two three",
    "text/event-stream; charset=utf-8",
  ]);
  const usage = last.response["usage"] as Fields;
  expect(usage["cost_nano"]).toBe(Number(lastLog(control)?.cost));
  const { cost_nano: _cost, ...storedUsage } = usage;
  expect((await call("GET", `/v1/responses/${String(last.response["id"])}`)).json).toEqual({ ...last.response, usage: storedUsage });
  const cut = readNamedEvents((await create({ input: "one two three", stream: true, max_output_tokens: 1 })).text).at(-1);
  expect(cut).toMatchObject({ type: "response.incomplete", response: { incomplete_details: { reason: "max_output_tokens" } } });
});

test("an upstream that breaks off in the middle gives response.failed; before the first word it is a real status", async () => {
  const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  const { control, create } = await open([chunk({ content: "one " }), "", "", ""], { breaks: true });
  const events = readNamedEvents((await create({ model: "gpt", input: "x", stream: true })).text);
  expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed", error: { code: "server_error" } } });
  expect(lastLog(control)?.status).toBe("error");
  const early = await create({ model: "gpt", input: "x", stream: true, num_retries: 0 });
  expect([early.status, early.json]).toMatchObject([503, { error: { type: "api_connection_error" } }]);
});

test.each([
  [{ input: "x", tools: [{ type: "web_search" }] }, 400, "tools[0].type"],
  [{ input: "x", n: -5 }, 400, "n"],
  [{ input: "x", max_completion_tokens: "1e9" }, 400, "max_completion_tokens"],
  [{ input: 7 }, 422, "input"],
  [{ input: [{ type: "hologram" }] }, 400, "input[0].type"],
])("a request that cannot be met is refused by name: %j", async (body, status, param) => {
  const { create } = await open();
  const refused = await create(body);
  expect([refused.status, refused.json]).toMatchObject([status, { error: { param, message: expect.stringMatching(/./) } }]);
});

test("where nothing can be stored a paid answer is given all the same, and says that it is not stored", async () => {
  const { control, create } = await open();
  let attempts = 0;
  control.records.commit = async () => {
    attempts++;
    throw new Error("the control plane is away");
  };
  const { status, json } = await create({ input: "x" });
  expect([status, json["store"], textOf(json), attempts]).toEqual([200, false, "x", 3]);
});
