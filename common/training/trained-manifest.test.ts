import { type Manifest, readServedId, servedId } from "./trained-manifest.ts";

const blob = "ab".repeat(32);

test("a manifest is read from its name as it was written, whatever order it was written in, and its name fits into an address", () => {
  const manifest: Manifest = { task: "mlp", blob, labels: ["gut", "schlecht ⚠"], columns: ["a b", "c/d"], flagged: [] };
  const id = servedId(manifest) ?? "";
  expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(readServedId(id)).toEqual(manifest);
  expect(servedId({ flagged: [], columns: ["a b", "c/d"], labels: ["gut", "schlecht ⚠"], blob, task: "mlp" })).toBe(id);
});

test("what would be too long for an address has no name", () => {
  const labels = Array.from({ length: 1000 }, (_, index) => `class ${index}`);
  expect(servedId({ task: "softmax", blob, labels })).toBeUndefined();
});

test.each([
  ["no base64url", "a/b"],
  ["no JSON", Buffer.from("hello").toString("base64url")],
  ["an unknown task", named({ task: "magic", blob })],
  ["a hash that is none", named({ task: "mlp", blob: "../../etc/passwd" })],
  ["no parameters", named({ task: "mlp" })],
  ["parameters twice", named({ task: "mlp", blob, builtin: "digits" })],
  ["an unknown field", named({ task: "mlp", blob, run: "x" })],
  ["a function without its nodes", named({ task: "function", blob })],
  ["a built-in task with nodes", named({ task: "mlp", blob, federation: { id: "fed_1", participants: ["p1"] } })],
  ["a function without parameters", named({ task: "function", builtin: "digits", federation: { id: "fed_1", participants: ["p1"] } })],
])("%s is no name of a model", (_what, id) => {
  expect(readServedId(id)).toBeUndefined();
});

function named(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
