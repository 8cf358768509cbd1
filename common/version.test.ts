import { isNodeSince, NODE_MIN, VERSION } from "./version.ts";

test("the package says its version and the oldest Node that it runs on", () => {
  expect([VERSION, NODE_MIN]).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+/), expect.stringMatching(/^\d+\.\d+$/)]);
  expect(isNodeSince(process.versions.node, NODE_MIN)).toBe(true);
});

test("a Node is old by its major version, and by its minor version where the major one is equal", () => {
  expect(["24.7.0", "24.21.1", "26.0.0"].map((version) => isNodeSince(version, "24.7"))).toEqual([true, true, true]);
  expect(["20.20.2", "24.6.9", "9.9.0"].map((version) => isNodeSince(version, "24.7"))).toEqual([false, false, false]);
});
