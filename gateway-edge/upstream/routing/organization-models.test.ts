import { compileModelNames } from "./model-names.ts";
import { deployment } from "./routing-fixture.ts";

const closed = (id: string, name: string, organizationIds: string[], modelId = id) => {
  const made = deployment({ id, name });
  return { ...made, organizationIds, model: made.model && { ...made.model, id: modelId } };
};

const names = compileModelNames(
  [
    deployment({ id: "open", name: "everyones" }),
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
  expect(names.list({ organizationId: "org_a" })).toEqual(["shared", "everyones"]);
  expect(names.list({ organizationId: "org_x" })).toEqual(["everyones"]);
  expect(names.list()).toEqual(["everyones"]);
});

test("a name stands for one model: the principal's own, else the one that was there first, with all its deployments", () => {
  expect(idsOf("shared", "org_a")).toEqual(["a1"]);
  expect(idsOf("shared", "org_b")).toEqual(["b1", "b2"]);
  expect(idsOf("shared", "org_c")).toEqual(["a1"]);
});
