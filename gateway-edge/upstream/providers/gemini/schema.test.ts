import { geminiSchema } from "./schema.ts";

test("what Google does not know is put otherwise or left out, on a copy", () => {
  const schema = Object.freeze({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    additionalProperties: false,
    properties: {
      name: { type: ["string", "null"], format: "email" },
      kind: { const: "city" },
      size: { enum: [1, 2] },
      place: { $ref: "#/$defs/place" },
      either: { oneOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
      tags: { type: "array" },
    },
    required: ["name", "gone"],
    $defs: { place: { type: "object", properties: { lat: { type: "number", exclusiveMinimum: 0 } } } },
  });
  expect(geminiSchema(schema)).toEqual({
    type: "object",
    properties: {
      name: { type: "string", nullable: true },
      kind: { type: "string", enum: ["city"] },
      size: { type: "number", description: "One of: 1, 2." },
      place: { type: "object", properties: { lat: { type: "number" } } },
      either: { anyOf: [{ type: "string" }, { type: "integer" }], nullable: true },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["name"],
  });
});

test("a reference into itself ends, and allOf is one object", () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/node" } } };
  const schema = { allOf: [{ $ref: "#/$defs/node" }, { properties: { id: { type: "string" } }, required: ["id"] }], $defs: { node } };
  expect(geminiSchema(schema)).toEqual({
    type: "object",
    properties: { next: { type: "object" }, id: { type: "string" } },
    required: ["id"],
  });
  expect(geminiSchema({ $ref: "#" })).toEqual({ type: "object" });
});

test("references that double at each step are refused, not written out", () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, step) => [
      `d${step}`,
      { type: "object", properties: { a: { $ref: `#/$defs/d${step + 1}` }, b: { $ref: `#/$defs/d${step + 1}` } } },
    ]),
  );
  expect(() => geminiSchema({ $ref: "#/$defs/d0", $defs })).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
});
