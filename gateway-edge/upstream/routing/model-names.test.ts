import fc from "fast-check";
import { matchPattern } from "../../../common/match-pattern.ts";
import { deployment, fine, runCall, settingsJson, world } from "./routing-fixture.ts";
import { comparePatterns, fillStars } from "./wildcard.ts";

const table = [
  { id: "id-1", name: "gpt" },
  { id: "id-2", name: "gpt" },
  { id: "id-3", name: "openai/*", model: "*" },
  { id: "id-4", name: "openai/o*-mini", model: "reasoning-*" },
  { id: "id-5", name: "team-model", info: { team_id: "t1", team_public_model_name: "gpt" } },
  { id: "id-6", name: "*", model: "any/*" },
  { id: "id-7", name: "grouped", info: { access_groups: ["beta", "all"] } },
];
const aliases = { model_group_alias: { fast: "gpt", secret: { model: "gpt", hidden: true }, mini: "openai/o3-mini", dangling: "" } };

const { router, start } = world(table, aliases);
const ids = (name: string, teamId?: string) => router.candidates(name, { teamId }).map(({ id }) => id);
const models = (name: string) => router.candidates(name).map(({ inferenceModelId }) => inferenceModelId);

test("a name is a deployment's id, else an alias, else a group, else under the longest wildcard", () => {
  expect(ids("id-2")).toEqual(["id-2"]);
  expect(ids("fast")).toEqual(["id-1", "id-2"]);
  expect(ids("secret")).toEqual(["id-1", "id-2"]);
  expect(ids("gpt")).toEqual(["id-1", "id-2"]);
  expect(models("openai/o3-mini")).toEqual(["reasoning-3"]);
  expect(models("mini")).toEqual(["reasoning-3"]);
  expect(models("openai/gpt-4o")).toEqual(["gpt-4o"]);
  expect(models("other")).toEqual(["any/other"]);
});

test("a team's own deployments go before the public group, and only that team has them", () => {
  expect(ids("gpt", "t1")).toEqual(["id-5"]);
  expect(ids("id-5", "t1")).toEqual(["id-5"]);
  expect(ids("gpt", "t2")).toEqual(["id-1", "id-2"]);
  expect(ids("id-5", "t2")).toEqual(["id-6"]);
});

test("the list has groups, patterns and aliases that are not hidden", () => {
  expect(router.names()).toEqual(["gpt", "openai/*", "openai/o*-mini", "*", "grouped", "fast", "mini"]);
  expect(router.accessGroups().get("beta")).toEqual(new Set(["grouped"]));
  expect(router.groupOf("id-3")).toMatchObject({ name: "openai/*" });
  expect(router.groupOf("openai/x")).toMatchObject({ name: "openai/x", configuredName: "openai/*" });
});

test("a wildcard's attempt has the concrete model and the configured id", async () => {
  const run = start({ model: "openai/gpt-4o" });
  const attempt = await run.next();
  expect(attempt).toMatchObject({
    group: "openai/gpt-4o",
    deployment: { id: "id-3", modelName: "openai/gpt-4o", inferenceModelId: "gpt-4o" },
  });
  if (attempt) run.succeeded(attempt, { latencyMs: 1, tokens: 1 });
  expect(router.stateOf("id-3")).toMatchObject({ succeeded: 1, inFlight: 0 });
});

test("fallbacks may be written for an alias, a group or a pattern", () => {
  const other = world([]).router;
  const settings = settingsJson(
    { ...aliases, fallbacks: [{ fast: ["a"] }, { "openai/*": ["b"] }, { "*": ["c"] }] },
    { context_window_fallbacks: [{ gpt: ["d"] }] },
  );
  other.update(table.map(deployment), settings);
  expect(other.fallbacksOf("fast", "general")).toEqual(["a", "c"]);
  expect(other.fallbacksOf("gpt", "general")).toEqual(["c"]);
  expect(other.fallbacksOf("openai/x", "general")).toEqual(["b", "c"]);
  expect(other.fallbacksOf("fast", "context_window")).toEqual(["d"]);
  expect(other.fallbacksOf("gpt", "content_policy")).toEqual([]);
});

test("disabled models cannot be called; names of objects' own methods are no models", async () => {
  const base = deployment({ id: "off" });
  const { router: other, start: begin } = world([]);
  other.update([{ ...base, model: base.model && { ...base.model, status: "disabled" } }], "{}");
  expect(other.candidates("m")).toEqual([]);
  expect(await runCall(begin({ model: "constructor" }), () => fine)).toEqual([]);
});

test("stars are filled in order; without a star the model stays, with too few the asked name is the model", () => {
  expect(matchPattern("a/*/b-*", "a/x/b-y")).toEqual(["x", "y"]);
  expect(matchPattern("a*a", "a")).toBeUndefined();
  expect(matchPattern("gpt.4", "gptx4")).toBeUndefined();
  expect(fillStars("m-*-*", { name: "n", captures: ["x", "$&"] })).toBe("m-x-$&");
  expect(fillStars("fixed", { name: "n", captures: ["x"] })).toBe("fixed");
  expect(fillStars("m-*", { name: "n", captures: ["x", "y"] })).toBe("n");
  expect(["*", "a*", "abc*", "a**"].sort(comparePatterns)).toEqual(["abc*", "a**", "a*", "*"]);
});

test("a pattern matches as a greedy expression does", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "."), maxLength: 12 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "/", ".", "*"), maxLength: 8 });
  fc.assert(
    fc.property(pattern, text, (left, name) => {
      const literal = (part: string) => part.replace(/[./]/g, "\\$&");
      const expected = new RegExp(`^${left.split("*").map(literal).join("(.*)")}$`).exec(name);
      expect(matchPattern(left, name)).toEqual(expected ? expected.slice(1) : undefined);
    }),
    { numRuns: 2000 },
  );
});

test("what a name stands for does not depend on which names were resolved before it, and for whom", () => {
  const lists = [undefined, { names: ["gpt"] }, { names: ["beta"] }, { names: ["none"] }];
  const principal = fc.option(
    fc.record({
      teamId: fc.constantFrom(undefined, "t1", "t2"),
      organizationId: fc.constantFrom(undefined, "o1"),
      models: fc.constantFrom(...lists),
      teamModels: fc.constantFrom(...lists),
    }),
    { nil: undefined },
  );
  const name = fc.constantFrom("gpt", "fast", "grouped", "id-5", "id-7", "openai/gpt-4o", "toString");
  const idsOf = (asked: typeof router, model: string, by: Parameters<typeof router.candidates>[1]) =>
    asked.candidates(model, by).map(({ id }) => id);
  fc.assert(
    fc.property(fc.array(fc.tuple(name, principal), { maxLength: 8 }), (asked) => {
      const { router: used } = world(table, aliases);
      for (const [model, by] of asked) expect(idsOf(used, model, by)).toEqual(idsOf(world(table, aliases).router, model, by));
    }),
    { numRuns: 100 },
  );
});
