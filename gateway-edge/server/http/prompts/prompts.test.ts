import OpenAI from "openai";
import { versionWrite } from "../../../stored/prompts/prompt-records.ts";
import type { Fields, Send, UpstreamRequest } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";

let control: FakeControl;
let edge: TestEdge;
let requests: UpstreamRequest[];
let call: ReturnType<typeof jsonCaller>;
let client: OpenAI;

const upstream = { apiKey: "up", params: "{}", inferenceModelId: "gpt-4o", providerKind: "openai" };
const CHAT = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "Good day" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 2 },
});
const NATIVE = JSON.stringify({
  ...{ id: "resp_up", object: "response", status: "completed", model: "gpt-4o" },
  output: [{ id: "msg_up", type: "message", role: "assistant", content: [{ type: "output_text", text: "Good day", annotations: [] }] }],
  usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
});
const send: Send = async (request) => {
  requests.push(request);
  const text = request.url.endsWith("/responses") ? NATIVE : CHAT;
  return {
    status: 200,
    headers: {},
    body: (async function* () {
      yield Buffer.from(text);
    })(),
  };
};
const sent = () => JSON.parse(String(requests.at(-1)?.body)) as Fields;

beforeAll(async () => {
  control = new FakeControl();
  control.deployments = [
    deployment({ modelName: "gpt", ...upstream, baseUrl: "http://upstream/v1" }),
    deployment({ modelName: "native", ...upstream, baseUrl: "https://api.openai.com/v1" }),
  ];
  edge = await startEdge(control, { send });
  const { secret } = control.addKey();
  call = jsonCaller(edge.url, secret);
  client = new OpenAI({ apiKey: secret, baseURL: `${edge.url}/v1`, maxRetries: 0 });
});
beforeEach(() => {
  requests = [];
});
afterAll(() => edge.close());

const TEMPLATE = {
  ...{ model: "gpt", instructions: "You greet {{who}}.", temperature: 0.5, max_output_tokens: 50 },
  messages: [
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hello, {{who}}" },
  ],
  tools: [{ type: "function", name: "wave", parameters: { type: "object", properties: {} } }],
  text: { format: { type: "json_schema", name: "greeting", schema: { type: "object" } } },
};

async function newPrompt(template: object = TEMPLATE): Promise<string> {
  const { status, json } = await call("POST", "/v1/prompts", { name: "greeting", template });
  expect(status).toBe(200);
  return String(json["id"]);
}

test("prompts are created, listed, changed, versioned and deleted, by their team alone", async () => {
  const id = await newPrompt();
  const added = await call("POST", `/v1/prompts/${id}/versions`, { template: { ...TEMPLATE, instructions: "No names." } });
  expect(added.json).toMatchObject({ object: "prompt.version", prompt_id: id, version: "2", variables: ["who"] });
  await call("POST", `/v1/prompts/${id}/versions`, { template: TEMPLATE, current: false });
  expect((await call("GET", `/v1/prompts/${id}`)).json).toMatchObject({ name: "greeting", version: "2", latest_version: "3" });
  const changed = await call("POST", `/v1/prompts/${id}`, { version: "1", name: null, metadata: { of: "test" } });
  expect(changed.json).toMatchObject({ name: null, version: "1", metadata: { of: "test" } });
  expect((await call("GET", `/v1/prompts/${id}/versions?order=asc`)).json).toMatchObject({
    data: [{ version: "1" }, { version: "2" }, { version: "3" }],
  });
  expect((await call("POST", `/v1/prompts/${id}`, { version: "9" })).status).toBe(404);
  const stranger = control.addKey({ teamId: "team_2", organizationId: "org_2" }).secret;
  for (const [method, path] of [
    ["GET", ""],
    ["POST", ""],
    ["DELETE", ""],
    ["GET", "/versions"],
    ["GET", "/versions/1"],
  ] as const)
    expect([method, path, (await call(method, `/v1/prompts/${id}${path}`, method === "POST" ? {} : undefined, stranger)).status]).toEqual([
      method,
      path,
      404,
    ]);
  expect((await call("POST", `/v1/prompts/${id}/versions`, { template: {} }, stranger)).status).toBe(404);
  expect((await call("POST", "/v1/responses", { prompt: { id, version: "1", variables: { who: "x" } } }, stranger)).status).toBe(404);
  expect((await call("GET", "/v1/prompts", undefined, stranger)).json).toMatchObject({ data: [] });
  expect((await call("DELETE", `/v1/prompts/${id}`)).json).toEqual({ id, object: "prompt.deleted", deleted: true });
  expect((await call("GET", `/v1/prompts/${id}/versions/1`)).status).toBe(404);
});

test("a response gets the fields of its prompt, and its own take precedence", async () => {
  const id = await newPrompt();
  const prompt = { id, variables: { who: "Ada {{who}}" } };
  const response = await client.responses.create({ prompt, input: "Now you", temperature: 0.1 });
  expect(response).toMatchObject({ output_text: "Good day", model: "gpt", prompt: { id, version: "1", variables: prompt.variables } });
  expect(sent()).toMatchObject({ model: "gpt-4o", temperature: 0.1, max_tokens: 50, response_format: { type: "json_schema" } });
  expect(sent()["messages"]).toEqual([
    { role: "system", content: "You greet Ada {{who}}." },
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hello, Ada {{who}}" },
    { role: "user", content: "Now you" },
  ]);
  expect(sent()["tools"]).toMatchObject([{ type: "function", function: { name: "wave" } }]);
  expect(sent()).not.toHaveProperty("prompt");
  const items = await client.responses.inputItems.list(response.id);
  expect(items.data).toHaveLength(1);
  await client.responses.create({ prompt, input: "Again", previous_response_id: response.id });
  expect(sent()["messages"]).toMatchObject([
    {},
    { content: "Hello" },
    {},
    { content: "Now you" },
    { content: "Good day" },
    { content: "Again" },
  ]);
});

test("a prompt is resolved here also for an upstream that has the Responses API", async () => {
  const id = await newPrompt();
  const response = await client.responses.create({ model: "native", prompt: { id, variables: { who: "Ada" } }, input: "Now you" });
  expect([response.output_text, response.prompt?.version, response.model]).toEqual(["Good day", "1", "native"]);
  expect(sent()).toMatchObject({ instructions: "You greet Ada.", temperature: 0.5, tools: TEMPLATE.tools });
  expect(sent()["input"]).toMatchObject([{ content: "Hello" }, { content: "Hello, Ada" }, { content: [{ text: "Now you" }] }]);
  expect(sent()).not.toHaveProperty("prompt");
});

test("a chat completion gets the fields of its prompt in its own form", async () => {
  const id = await newPrompt();
  const prompt = { id, version: "1", variables: { who: "Ada" } };
  const body = { model: "gpt", prompt, messages: [{ role: "user", content: "Now you" }], max_completion_tokens: 7, tools: null };
  const answer = await client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming);
  expect(answer.choices[0]?.message.content).toBe("Good day");
  expect(sent()).toMatchObject({ temperature: 0.5, response_format: { type: "json_schema" }, tools: [{ function: { name: "wave" } }] });
  expect([sent()["max_tokens"], sent()["max_completion_tokens"]].filter((limit) => limit !== undefined)).toEqual([7]);
  expect(sent()["messages"]).toMatchObject([{ role: "system", content: "You greet Ada." }, {}, {}, { content: "Now you" }]);
  expect((await call("POST", "/v1/chat/completions", { prompt })).status).toBe(200);
  expect(sent()).toMatchObject({ model: "gpt-4o", max_tokens: 50 });
});

test("what a prompt lacks or does not allow is said before anything is sent", async () => {
  const id = await newPrompt();
  const refused = async (prompt: object, status = 400) => {
    for (const path of ["/v1/responses", "/v1/chat/completions"]) {
      const answer = await call("POST", path, { prompt, input: "x", messages: [{ role: "user", content: "x" }] });
      expect([path, answer.status]).toEqual([path, status]);
      expect(answer.json).toMatchObject({ error: { param: expect.stringMatching(/^prompt/) } });
    }
    expect(requests).toEqual([]);
  };
  await refused({ id });
  await refused({ id, variables: { who: "x", other: "y" } });
  await refused({ id, version: "7", variables: { who: "x" } }, 404);
  await refused({ id: "pmpt_none" }, 404);
  await refused({ id, variables: { who: { type: "input_image", image_url: "https://x" } } }, 422);
  await refused({ id, variables: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`v${index}`, "x"])) }, 422);
  const tooLarge = { messages: Array.from({ length: 3 }, () => ({ role: "user" as const, content: "x".repeat(100_000) })) };
  expect(() => versionWrite(id, { template: tooLarge, number: 1, nowMs: 0 })).toThrow(/at most 262144 bytes/);
  expect(() => versionWrite(id, { template: {}, number: 1001, nowMs: 0 })).toThrow(/at most 1000 versions/);
  expect((await call("POST", "/v1/prompts", { template: { unknown: 1 } })).status).toBe(422);
});
