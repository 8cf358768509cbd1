import type { RoutingDeployment, RoutingGroup } from "../../../api/gateway.ts";
import { healthText, picturedGroups, sharesOf } from "./shares.ts";

const deployment = (id: string, fields: Partial<RoutingDeployment> = {}): RoutingDeployment =>
  ({ id, weight: null, order: null, requestsPerMinute: null, tokensPerMinute: null, ...fields }) as RoutingDeployment;
const group = (name: string, general: string[] = [], deployments = [deployment(name)]): RoutingGroup => ({
  name,
  strategy: "simple-shuffle",
  deployments,
  fallbacks: { general, contextWindow: [], contentPolicy: [] },
  stored: { strategy: null, deployments: [], fallbacks: { general: null, contextWindow: null, contentPolicy: null } },
  fileFields: [],
});
const shares = (deployments: RoutingDeployment[], strategy = "simple-shuffle") =>
  sharesOf({ deployments, strategy }).map(({ deployment: { id }, share, turn }) => [id, share, turn]);

test("calls are shared by weight, else by rate limit, else evenly; a missing weight counts as zero if others have one", () => {
  const weighted = [deployment("a", { weight: 3 }), deployment("b", { weight: 1 }), deployment("c")];
  expect(shares(weighted)).toEqual([
    ["a", 0.75, 1],
    ["b", 0.25, 1],
    ["c", 0, 1],
  ]);
  expect(shares([deployment("a", { requestsPerMinute: 90 }), deployment("b", { requestsPerMinute: 10 })])).toEqual([
    ["a", 0.9, 1],
    ["b", 0.1, 1],
  ]);
  expect(shares([deployment("a"), deployment("b")]).map(([, share]) => share)).toEqual([0.5, 0.5]);
});

test("a lower order goes first, and shares are per order; other strategies have no fixed share", () => {
  const ordered = [deployment("later"), deployment("second", { order: 2 }), deployment("first", { order: 1 })];
  expect(shares(ordered, "least-busy")).toEqual([
    ["first", 1, 1],
    ["second", 1, 2],
    ["later", 1, 3],
  ]);
  expect(shares([deployment("a"), deployment("b")], "least-busy").map(([, share]) => share)).toEqual([undefined, undefined]);
});

test("the diagram has groups with several deployments and their fallbacks, including cycles; a chosen group has only its own", () => {
  const groups = [group("a", ["b"]), group("b", ["a", "gone"]), group("c"), group("d", [], [deployment("x"), deployment("y")])];
  expect(picturedGroups(groups, undefined).map(({ name }) => name)).toEqual(["a", "b", "d"]);
  expect(picturedGroups(groups, "b").map(({ name }) => name)).toEqual(["b", "a"]);
  expect(picturedGroups(groups, "c").map(({ name }) => name)).toEqual(["c"]);
});

test("a cool-down shows its duration and cause", () => {
  const health = { state: "cooling", coolingMs: 4_200, coolingCause: "rate-limit" } as RoutingDeployment["health"];
  expect(healthText({ health })).toBe("in cool-down for 5 s after a rate limit");
});
