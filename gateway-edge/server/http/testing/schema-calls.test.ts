import { completion, type LayeredEdge, type Reply, startLayered, user } from "./layered-edge-fixture.ts";

const opened: LayeredEdge[] = [];
afterAll(() => Promise.all(opened.map((edge) => edge.close())));

const CHAT = "/v1/chat/completions";
const schema = { type: "object", required: ["n"], properties: { n: { type: "integer" } }, additionalProperties: false };
const ask = (strict: boolean | undefined, own: object = schema) => ({
  model: "gpt",
  messages: user("x"),
  response_format: { type: "json_schema", json_schema: { name: "s", schema: own, strict } },
});

async function open(answers: readonly unknown[], settings: object = {}) {
  let place = 0;
  const reply: Reply = () => answers[Math.min(place++, answers.length - 1)];
  const layered = await startLayered(settings, reply);
  opened.push(layered);
  return layered;
}

test("an answer that fits is passed on as it is", async () => {
  const { key, sent } = await open([completion('{"n":1}')]);
  expect((await key()(CHAT, ask(true))).status).toBe(200);
  expect(sent).toHaveLength(1);
});

test("a wrong answer is asked for once more; both were spent, so both are paid and in the log", async () => {
  const { key, sent, logs } = await open([completion('{"n":"one"}'), completion('{"n":1}')]);
  const response = await key()(CHAT, ask(true));
  expect([response.status, response.headers.get("x-gw-cost-nano")]).toEqual([200, "40000"]);
  expect(sent).toHaveLength(2);
  const [first, second] = logs();
  expect(first).toMatchObject({ status: "error", errorCode: "JSON_SCHEMA_VALIDATION", httpStatus: 500, cost: 20_000n });
  expect(second).toMatchObject({ status: "success", cost: 20_000n, tags: [`retry-of:${first?.callId}`] });
});

test("wrong twice is a 500 of its own kind that clients do not repeat", async () => {
  const { key, sent, logs } = await open([completion("no JSON at all")]);
  const response = await key()(CHAT, ask(true));
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([500, "false"]);
  expect(await response.json()).toMatchObject({
    error: { type: "json_schema_validation_error", message: expect.stringContaining("not JSON") },
  });
  expect([sent.length, logs().map(({ cost }) => cost)]).toEqual([2, [20_000n, 20_000n]]);
});

test("refusals, calls of tools and answers that were cut off are not held against the schema", async () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  for (const answer of [
    completion(null, { refusal: "no" }),
    completion(null, { tool_calls: [call] }, "tool_calls"),
    completion('{"n":', {}, "length"),
  ]) {
    const { key } = await open([answer]);
    expect((await key()(CHAT, ask(true))).status).toBe(200);
  }
});

test("without strict nothing is checked, unless the operator wants all checked", async () => {
  const lax = await open([completion("free text")]);
  expect((await lax.key()(CHAT, ask(undefined))).status).toBe(200);
  const all = await open([completion("free text")], { litellm_settings: { enable_json_schema_validation: true } });
  expect((await all.key()(CHAT, ask(undefined))).status).toBe(500);
});

test("a schema that leads elsewhere is a 400 before anything is spent; a pattern that never ends does no harm", async () => {
  const { key, sent } = await open([completion('{"n":1}')]);
  const post = key();
  expect((await post(CHAT, ask(true, { $ref: "http://elsewhere/schema.json" }))).status).toBe(400);
  expect(sent).toHaveLength(0);
  const endless = await open([completion(`{"t":"${"a".repeat(40)}!"}`)]);
  const pattern = { type: "object", properties: { t: { type: "string", pattern: "^(a+)+$" } } };
  const startedMs = performance.now();
  expect((await endless.key()(CHAT, ask(true, pattern))).status).toBe(200);
  expect(performance.now() - startedMs).toBeLessThan(2000);
});

test("two schemas with the same $id are two schemas", async () => {
  const { key } = await open([completion('{"n":1}')]);
  const post = key();
  expect((await post(CHAT, ask(true, { ...schema, $id: "http://x/s" }))).status).toBe(200);
  expect((await post(CHAT, ask(true, { $id: "http://x/s", type: "array" }))).status).toBe(500);
});

test("only an answer that matches the schema is cached", async () => {
  const { key, sent } = await open([completion("wrong"), completion("wrong"), completion('{"n":1}')], {
    litellm_settings: { cache: true },
  });
  const post = key();
  expect((await post(CHAT, ask(true))).status).toBe(500);
  expect((await post(CHAT, ask(true))).status).toBe(200);
  const again = await post(CHAT, ask(true));
  expect([again.status, again.headers.get("x-gw-cache-key") === null, sent.length]).toEqual([200, false, 3]);
});
