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

/** Each definition is applied twice by the one before. */
function doubled(steps: number) {
  const both = (step: number) => ({ anyOf: [{ $ref: `#/$defs/a${step}` }, { $ref: `#/$defs/a${step}` }] });
  const defs = Array.from({ length: steps }, (_, step) => [`a${step}`, both(step + 1)] as const);
  const properties = { x: { $ref: "#/$defs/a0" } };
  return { type: "object", properties, $defs: { ...Object.fromEntries(defs), [`a${steps}`]: { type: "object" } } };
}

test.each([
  ["doubles its work with each line", doubled(40)],
  ["refers to itself without an end", { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ type: "string" }, { $ref: "#/$defs/a" }] } } }],
])("a schema that %s is a 400 at once, before anything is spent, and holds up no other call", async (_what, own) => {
  const { key, sent } = await open([completion('{"x":"1"}')]);
  const startedMs = performance.now();
  const response = await key()(CHAT, ask(true, own));
  expect([response.status, performance.now() - startedMs < 2000]).toEqual([400, true]);
  expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", param: "response_format" } });
  expect(sent).toHaveLength(0);
});

test("an answer whose check does not end in time is a documented 500, is billed once, asked for once, and holds up no other call", async () => {
  const both = { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] };
  const own = { $ref: "#/$defs/a", $defs: { a: { type: "object", required: ["x"], properties: { x: both } } } };
  const { key, sent, logs } = await open([completion(`${'{"x":'.repeat(60)}1${"}".repeat(60)}`)]);
  const post = key();
  const before = process.threadCpuUsage();
  const response = await post(CHAT, ask(true, own));
  const { user, system } = process.threadCpuUsage(before);
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([500, "false"]);
  expect(await response.json()).toMatchObject({
    error: { type: "json_schema_validation_error", message: expect.stringContaining("takes too long") },
  });
  expect([sent.length, logs().map(({ cost }) => cost)]).toEqual([1, [20_000n]]);
  expect((user + system) / 1000).toBeLessThan(200);
});

test("a schema that refers to itself, as that of a tree does, is one as any other", async () => {
  const properties = { label: { type: "string" }, children: { type: "array", items: { $ref: "#" } } };
  const tree = { type: "object", properties, required: ["label", "children"], additionalProperties: false };
  const { key, sent } = await open([
    completion('{"label":"a","children":[{"label":1,"children":[]}]}'),
    completion('{"label":"a","children":[]}'),
  ]);
  expect((await key()(CHAT, ask(true, tree))).status).toBe(200);
  expect(sent).toHaveLength(2);
});

test("a schema that calls itself asynchronous is checked, and ends no process", async () => {
  const { key } = await open([completion('{"n":"one"}')]);
  expect((await key()(CHAT, ask(true, { ...schema, $async: true }))).status).toBe(500);
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
