import { compileTarget } from "./deployment-settings.ts";
import { isListed, usableTargets } from "./principal.ts";
import { deployment } from "./routing-fixture.ts";

const inGroup = compileTarget(deployment({ id: "a", info: { access_groups: ["basic"] } }));
const outside = compileTarget(deployment({ id: "b" }));
const usable = (models: string[] | undefined, teamModels?: string[], names = ["m"]) =>
  usableTargets([inGroup, outside], {
    names,
    principal: { models: models && { names: models }, teamModels: teamModels && { names: teamModels } },
  }).map(({ deployment: { id } }) => id);

test("by its name a group is whole, by an access group only what is in it", () => {
  expect(usable(["m"])).toEqual(["a", "b"]);
  expect(usable(["basic"])).toEqual(["a"]);
  expect(usable(["basic", "m"])).toEqual(["a", "b"]);
  expect(usable(["other"])).toEqual([]);
  expect(usable([])).toEqual([]);
  expect(usable(undefined)).toEqual(["a", "b"]);
});

test("stars stand for any text, and nothing else in a pattern does", () => {
  expect(usable(["v*/x-*"], undefined, ["vendor/x-1"])).toEqual(["a", "b"]);
  expect(usable(["gpt.4*"], undefined, ["gpt-4o"])).toEqual([]);
  expect(usable(["*"])).toEqual(["a", "b"]);
});

test("both lists hold", () => {
  expect(usable(["m"], ["basic"])).toEqual(["a"]);
  expect(usable(["basic"], ["m"])).toEqual(["a"]);
  expect(usable(undefined, ["other"])).toEqual([]);
  expect(usable(["all-team-models"], ["basic"])).toEqual(["a"]);
  expect(isListed({ models: { names: ["basic"] }, teamModels: { names: ["m"] } }, "basic")).toBe(false);
  expect(isListed({}, "basic")).toBe(true);
});
