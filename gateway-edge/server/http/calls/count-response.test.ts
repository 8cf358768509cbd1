import type { Json } from "../../../stored/assistants/runs-fixture.ts";
import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";

const control = new FakeControl();
control.deployments = [deployment({ modelName: "echo" }), deployment({ modelName: "closed" })];
const { secret } = control.addKey({ models: { names: ["echo"] } });
let edge: TestEdge;
let call: (method: string, path: string, body?: unknown) => Promise<{ status: number; headers: Headers; body: Json }>;
beforeAll(async () => {
  edge = await startEdge(control);
  const ask = jsonCaller(edge.url, secret);
  call = (...asked) => ask(...asked).then(({ json, ...rest }) => ({ ...rest, body: json }));
});
afterAll(() => edge.close());

const count = (body: object, path = "/v1/responses/input_tokens") => call("POST", path, { model: "echo", ...body });
const countOf = async (body: object) => (await count(body)).body.input_tokens as number;

test("the input tokens of a response are those of the same message, and cost nothing", async () => {
  const counted = await count({ input: "hello river" });
  const messages = [{ role: "user", content: "hello river" }];
  const inMessages = await call("POST", "/v1/messages/count_tokens", { model: "echo", messages });
  expect([counted.status, counted.body]).toEqual([
    200,
    { object: "response.input_tokens", input_tokens: inMessages.body.input_tokens as number },
  ]);
  expect((await count({ input: "hello river" }, "/responses/input_tokens")).body).toEqual(counted.body);
  expect(control.settled.size).toBe(0);
});

test("instructions, tools and the conversation before count too", async () => {
  const alone = await countOf({ input: "hello" });
  expect(await countOf({ input: "hello", instructions: "Answer with the name of a river." })).toBeGreaterThan(alone);
  const tools = [{ type: "function", name: "f", parameters: { type: "object", properties: { river: { type: "string" } } } }];
  expect(await countOf({ input: "hello", tools })).toBeGreaterThan(alone);
  const { body: first } = await call("POST", "/v1/responses", { model: "echo", input: "The Main flows into the Rhine." });
  expect(await countOf({ input: "hello", previous_response_id: first.id })).toBeGreaterThan(alone);
});

test("a model that is unknown or not allowed, and an input that is none, are refused", async () => {
  const refused = await Promise.all([count({ model: "none", input: "a" }), count({ model: "closed", input: "a" }), count({ input: 5 })]);
  expect(refused.map(({ status }) => status)).toEqual([404, 403, 422]);
});

test("the compaction of a conversation is refused as not supported, and ids of responses are still read", async () => {
  const compact = await call("POST", "/v1/responses/compact", { model: "echo", input: "a" });
  expect([compact.status, compact.body.error.type]).toEqual([400, "invalid_request_error"]);
  expect(compact.body.error.message).toContain("does not compact");
  const wrong = await call("GET", "/v1/responses/input_tokens");
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  expect((await call("GET", "/v1/responses/resp_none")).status).toBe(404);
});
