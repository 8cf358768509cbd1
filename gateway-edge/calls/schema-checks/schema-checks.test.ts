import { systemClock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { CheckReply } from "./check-task.ts";
import { compileSchema, readSchema } from "./compile-schema.ts";
import { createSchemaChecks, type SchemaChecks } from "./schema-checks.ts";

const opened: SchemaChecks[] = [];
afterAll(() => Promise.all(opened.map((checks) => checks.close())));

const openChecks = () => {
  const checks = createSchemaChecks({ clock: systemClock, logger: silentLogger });
  opened.push(checks);
  return checks;
};
const place = (organizationId = "org_1") => ({ organizationId, signal: new AbortController().signal });
const checkOf = (schema: Fields) => compileSchema(readSchema(schema));
const REFUSED = expect.objectContaining({ code: "INVALID_REQUEST", param: "response_format" });

/** $defs.a0 to a(steps), each applied twice by the one before, and a0 to `x`. */
function doubled(steps: number, keyword = "anyOf") {
  const both = (step: number) => [{ $ref: `#/$defs/a${step}` }, { $ref: `#/$defs/a${step}` }];
  const defs = Array.from({ length: steps }, (_, step) => [`a${step}`, { [keyword]: both(step + 1) }] as const);
  return {
    type: "object",
    properties: { x: { $ref: "#/$defs/a0" } },
    $defs: { ...Object.fromEntries(defs), [`a${steps}`]: { type: "object" } },
  };
}
/** Applied twice for each level of the answer: nothing is wrong with it until an answer is deep. */
const DOUBLED_BY_DEPTH = {
  $ref: "#/$defs/a",
  $defs: { a: { type: "object", required: ["x"], properties: { x: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } } } },
};
const DEEP = `${'{"x":'.repeat(60)}1${"}".repeat(60)}`;
/** OpenAI's own example of a recursive schema. */
const TREE = {
  type: "object",
  required: ["label", "children"],
  properties: { label: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
  additionalProperties: false,
};

test("a schema has a size, and leads to no other document", () => {
  expect(() => checkOf({ description: "x".repeat(70_000) })).toThrow(REFUSED);
  expect(() => checkOf({ $ref: "#/$defs/nowhere" })).toThrow(REFUSED);
  expect(() => checkOf({ $ref: "http://elsewhere/schema.json" })).toThrow(REFUSED);
});

test("schemas of newer drafts and with formats are used as far as they go", () => {
  const check = checkOf({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: { day: { type: "string", format: "date" } },
    properties: { day: { $ref: "#/$defs/day" } },
  });
  expect([check('{"day":"2026-01-02"}'), check('{"day":1}')]).toEqual([undefined, "/day must be string"]);
});

test("names by pattern are neither matched nor refused, because patterns are not run", () => {
  const check = checkOf({
    type: "object",
    properties: { n: { type: "integer" } },
    patternProperties: { "^x-": { type: "string" } },
    additionalProperties: false,
  });
  expect([check('{"n":1,"x-a":"b"}'), check('{"n":"1"}')]).toEqual([undefined, "/n must be integer"]);
});

test("a schema may refer to itself for what is in a value", () => {
  const check = checkOf(TREE);
  expect(check('{"label":"a","children":[{"label":"b","children":[]}]}')).toBeUndefined();
  expect(check('{"label":"a","children":[{"label":1,"children":[]}]}')).toBe("/children/0/label must be string");
  const list = { anyOf: [{ type: "null" }, { type: "object", properties: { next: { $ref: "#/$defs/node" } } }] };
  expect(checkOf({ $ref: "#/$defs/node", $defs: { node: list } })('{"next":{"next":1}}')).toContain("must be");
});

test.each([
  ["doubles with each reference", doubled(40)],
  ["doubles with each reference, in all of them", doubled(40, "allOf")],
  ["is itself", { $ref: "#" }],
  ["is one of its own choices", { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ type: "string" }, { $ref: "#/$defs/a" }] } } }],
  ["is itself by a detour, deep within", { items: { not: { $ref: "#/$defs/a" } }, $defs: { a: { if: { oneOf: [{ $ref: "#/items" }] } } } }],
  ["depends on itself", { dependencies: { x: { $ref: "#" } } }],
])("a schema that %s is refused at once, before it is compiled", (_what, schema) => {
  const started = performance.now();
  expect(() => readSchema(schema)).toThrow(REFUSED);
  expect(performance.now() - started).toBeLessThan(500);
});

test("a schema that calls itself asynchronous is checked as any other: of a promise every answer would match, and the process could end", () => {
  const check = checkOf({ $async: true, type: "object", required: ["n"] });
  expect([check('{"n":1}'), check("{}")]).toEqual([undefined, "the value must have required property 'n'"]);
});

test("an answer that is nested deeper than the stack does not match, and nothing else happens", () => {
  expect(checkOf({ items: { $ref: "#" } })(`${"[".repeat(50_000)}${"]".repeat(50_000)}`)).toContain("nested too deeply");
});

test("compiling takes time that grows as the schema does: a definition that is used often is compiled once", () => {
  const properties = (count: number, inner: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, place) => [`p${place}`, inner]));
  const many = { type: "object", properties: properties(100, { type: "object", required: ["x"], properties: { x: { type: "string" } } }) };
  const before = process.threadCpuUsage();
  checkOf({ $defs: { many }, properties: properties(100, { $ref: "#/$defs/many" }) });
  const { user, system } = process.threadCpuUsage(before);
  // 1,000 ms and more with inlined references.
  expect((user + system) / 1000).toBeLessThan(500);
});

test("an ordinary schema and answer are checked at once", () => {
  const check = openChecks().prepare({ type: "object", required: ["n"], properties: { n: { type: "integer" } } }, place());
  if (check instanceof Promise) throw new Error("a small schema needs no thread");
  expect([check(['{"n":1}']), check(['{"n":"1"}']), check(["none"])]).toEqual([
    { type: "fits" },
    { type: "differs", problem: "/n must be integer" },
    { type: "differs", problem: "it is not JSON" },
  ]);
});

test("recursive schemas, large ones, and long answers are checked in the thread, with the same results", async () => {
  const checks = openChecks();
  const tree = await checks.prepare(TREE, place());
  expect(await tree(['{"label":"a","children":[]}'])).toEqual({ type: "fits" });
  expect(await tree(['{"label":"a"}'])).toEqual({ type: "differs", problem: "the value must have required property 'children'" });
  const large = await checks.prepare({ enum: Array.from({ length: 500 }, (_, place) => `value ${place}`) }, place());
  expect([await large(['"value 499"']), await large(['"value 500"'])]).toMatchObject([{ type: "fits" }, { type: "differs" }]);
  const unique = await checks.prepare({ type: "array", uniqueItems: true }, place());
  const long = unique([JSON.stringify(Array.from({ length: 400 }, (_, place) => ({ place: place % 399 })))]);
  expect(long).toBeInstanceOf(Promise);
  expect(await long).toMatchObject({ type: "differs" });
  await expect(checks.prepare({ items: { $ref: "#" }, type: 7 }, place())).rejects.toEqual(REFUSED);
});

test("a check that takes too long ends, uses next to nothing of the event loop's time, and the thread serves others after it", async () => {
  const checks = openChecks();
  const check = await checks.prepare(DOUBLED_BY_DEPTH, place());
  const before = process.threadCpuUsage();
  expect(await check([DEEP])).toMatchObject({ type: "unchecked", reason: expect.stringContaining("takes too long") });
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(100);
  expect(await check(['{"x":{}}'])).toMatchObject({ type: "differs" });
});

test("organizations take turns: many slow checks of one delay a check of another by one of them", async () => {
  const checks = openChecks();
  const slow = await checks.prepare(DOUBLED_BY_DEPTH, place("org_slow"));
  const other = await checks.prepare(TREE, place("org_other"));
  const ended: string[] = [];
  const abort = new AbortController();
  const slowly = await checks.prepare(DOUBLED_BY_DEPTH, { organizationId: "org_slow", signal: abort.signal });
  const waiting = Promise.allSettled([
    Promise.resolve(slow([DEEP])).then(() => ended.push("slow")),
    ...Array.from({ length: 63 }, () => Promise.resolve(slowly([DEEP])).then(() => ended.push("slow"))),
  ]);
  expect(await other(['{"label":"a","children":[]}'])).toEqual({ type: "fits" });
  expect(ended.length).toBeLessThanOrEqual(1);
  // The clients of all the others leave: none of their checks is made.
  abort.abort(new Error("left"));
  expect((await waiting).filter(({ status }) => status === "rejected").length).toBeGreaterThanOrEqual(62);
});

test("an organization has a bounded number of checks waiting; a schema that finds no place is a 429, and an answer stays unchecked", async () => {
  const replies: ((reply: CheckReply) => void)[] = [];
  const thread = { run: () => new Promise<CheckReply>((resolve) => replies.push(resolve)), close: async () => {} };
  const checks = createSchemaChecks({ clock: systemClock, logger: silentLogger, thread });
  const refused = Promise.resolve(checks.prepare(TREE, place()));
  replies.shift()?.({ type: "busy" });
  await expect(refused).rejects.toMatchObject({ code: "RATE_LIMIT_EXCEEDED", retryAfterSeconds: 5 });
  const prepared = Promise.resolve(checks.prepare(TREE, place()));
  replies.shift()?.({ type: "checked" });
  const checked = Promise.resolve((await prepared)(["{}"]));
  replies.shift()?.({ type: "busy" });
  expect(await checked).toMatchObject({ type: "unchecked" });
});

test("a schema whose compiling takes too long is refused with its parameter", async () => {
  const thread = { run: async () => ({ type: "slow", step: "schema" }) as const, close: async () => {} };
  const checks = createSchemaChecks({ clock: systemClock, logger: silentLogger, thread });
  await expect(checks.prepare(TREE, place())).rejects.toEqual(REFUSED);
});
