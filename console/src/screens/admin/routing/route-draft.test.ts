import type { RoutingDeployment, RoutingGroup } from "../../../api/gateway.ts";
import { canOrder, reordered, routeBody, routeDraft } from "./route-draft.ts";

const deployment = (id: string, more: Partial<RoutingDeployment> = {}) =>
  ({ id, weight: null, order: null, source: "catalog", ...more }) as RoutingDeployment;
const group = (deployments: RoutingDeployment[], more: Partial<RoutingGroup> = {}): RoutingGroup => ({
  name: "gpt",
  strategy: "simple-shuffle",
  deployments,
  fallbacks: { general: [], contextWindow: [], contentPolicy: [] },
  stored: { strategy: null, deployments: [], fallbacks: { general: null, contextWindow: null, contentPolicy: null } },
  fileFields: [],
  ...more,
});

test("nothing that is set is nothing that is sent; deployments without an order share the calls", () => {
  const plain = group([deployment("a"), deployment("b")]);
  expect(routeDraft(plain).deployments.map(({ joins }) => joins)).toEqual([false, true]);
  expect(routeBody(plain, routeDraft(plain))).toEqual({ strategy: null, deployments: [], fallbacks: {} });
});

test("steps and weights are read in their order and sent as they are", () => {
  const own = group([deployment("c", { order: 2 }), deployment("a", { order: 1, weight: 3 }), deployment("b", { order: 1 })]);
  const draft = routeDraft(own);
  expect(draft.deployments).toEqual([
    { id: "a", weight: "3", joins: false },
    { id: "b", weight: "", joins: true },
    { id: "c", weight: "", joins: false },
  ]);
  expect(routeBody(own, draft).deployments).toEqual([
    { id: "a", weight: 3, order: 1 },
    { id: "b", weight: null, order: 1 },
    { id: "c", weight: null, order: 2 },
  ]);
  const moved = reordered(draft.deployments, ["b", "a", "c"]);
  expect(moved.map(({ id, joins }) => [id, joins])).toEqual([
    ["b", false],
    ["a", false],
    ["c", false],
  ]);
});

test("what the file sets is not sent", () => {
  const fileFields = ["strategy", "fallbacks.general", "weight/a", "order/a"];
  const own = group([deployment("a", { weight: 3, order: 1 }), deployment("b", { weight: 2, order: 2 })], { fileFields });
  expect(canOrder(own)).toBe(false);
  const draft = { ...routeDraft(own), strategy: "least-busy", fallbacks: { general: ["x"], contextWindow: ["y"], contentPolicy: [] } };
  expect(routeBody(own, draft)).toEqual({
    strategy: null,
    deployments: [{ id: "b", weight: 2, order: null }],
    fallbacks: { contextWindow: ["y"] },
  });
});
