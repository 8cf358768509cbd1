import { compileModelNames } from "./model-names.ts";
import { deployment } from "./routing-fixture.ts";

const closed = (id: string, name: string, organizationIds: string[], modelId = id) => {
  const made = deployment({ id, name });
  return { ...made, organizationIds, model: made.model && { ...made.model, id: modelId } };
};

const names = compileModelNames(
  [
    deployment({ id: "open", name: "everyones" }),
    deployment({ id: "any", name: "openai/*" }),
    closed("a2", "everyones", ["org_a", "org_c"]),
    closed("a3", "openai/gpt-4o", ["org_a", "org_c"]),
    closed("a1", "shared", ["org_a", "org_c"], "tm_a"),
    closed("b1", "shared", ["org_b", "org_c"], "tm_b"),
    closed("b2", "shared", ["org_b", "org_c"], "tm_b"),
    closed("c1", "secret", ["org_c"]),
  ],
  new Map(),
);
const idsOf = (name: string, organizationId?: string) =>
  names.resolve(name, { organizationId })?.targets.map((target) => target.deployment.id);

test("a model of organizations does not exist for anybody else, by name, by id or in a list", () => {
  expect(idsOf("secret", "org_c")).toEqual(["c1"]);
  expect(idsOf("secret", "org_a")).toBeUndefined();
  expect(idsOf("secret")).toBeUndefined();
  expect(idsOf("c1", "org_c")).toEqual(["c1"]);
  expect(idsOf("c1", "org_a")).toBeUndefined();
  expect(names.list({ organizationId: "org_a" })).toEqual(["everyones", "openai/gpt-4o", "shared", "openai/*"]);
  expect(names.list({ organizationId: "org_x" })).toEqual(["everyones", "openai/*"]);
  expect(names.list()).toEqual(["everyones", "openai/*"]);
});

test("a name stands for one model: the principal's own, else the one that was there first, with all its deployments", () => {
  expect(idsOf("shared", "org_a")).toEqual(["a1"]);
  expect(idsOf("shared", "org_b")).toEqual(["b1", "b2"]);
  expect(idsOf("shared", "org_c")).toEqual(["a1"]);
});

// The organization that shares a model chooses its name, its price and who gets its prompts, and the organizations it names are not asked.
test("what another organization shares takes no name that the operator offers, under a name or a wildcard", () => {
  expect(idsOf("everyones", "org_c")).toEqual(["open"]);
  expect(idsOf("openai/gpt-4o", "org_c")).toEqual(["any"]);
  expect(idsOf("a3", "org_c")).toEqual(["a3"]);
  expect(idsOf("everyones", "org_a")).toEqual(["a2"]);
  expect(idsOf("openai/gpt-4o", "org_a")).toEqual(["a3"]);
});
