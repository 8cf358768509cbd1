import fc from "fast-check";
import { MODEL_NAME, modelNameFrom } from "./model-name.ts";

test("a name is made of what people wrote", () => {
  expect(modelNameFrom("river digits")).toBe("river-digits");
  expect(modelNameFrom("  River digits (v2)!")).toBe("River-digits-v2");
  expect(modelNameFrom("Über Größe")).toBe("Uber-Gro-e");
  expect(modelNameFrom("acme/clf:v1")).toBe("acme/clf:v1");
  expect(modelNameFrom(`a${" b".repeat(200)}`)).toHaveLength(99);
  expect(modelNameFrom("数字")).toBeUndefined();
});

test("whatever the text, the name is valid or there is none, and a name stays itself", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const name = modelNameFrom(text);
      if (name === undefined) return;
      expect(name).toMatch(MODEL_NAME);
      expect(modelNameFrom(name)).toBe(name);
    }),
  );
});
