import fc from "fast-check";
import { filledTemplate, variablesOf } from "./variables.ts";

const messages = [{ role: "user" as const, content: "{{b}} and {{ a }}, not {{ 1 }} or {{a b}}" }];

test("a template's variables are its names in double braces, each once", () => {
  expect(variablesOf({ instructions: "{{a}}{{a}}{a}", messages })).toEqual(["a", "b"]);
  expect(variablesOf({})).toEqual([]);
});

test("every name is replaced by its value, and values are not searched for further names", () => {
  const filled = filledTemplate({ instructions: "{{a}}{{a}}", messages }, { a: "{{b}}", b: "$& $1 {{a}}" });
  expect(filled.instructions).toBe("{{b}}{{b}}");
  expect(filled.messages?.[0]?.content).toBe("$& $1 {{a}} and {{b}}, not {{ 1 }} or {{a b}}");
});

test("any value arrives as it is", () => {
  fc.assert(fc.property(fc.string(), (value) => filledTemplate({ instructions: "<{{a}}>" }, { a: value }).instructions === `<${value}>`));
});

test("a missing and an unknown variable are named, also names that objects have by themselves", () => {
  const refusal = { code: "INVALID_REQUEST", param: "prompt.variables.a" };
  expect(() => filledTemplate({ instructions: "{{a}}" }, {})).toThrow(expect.objectContaining(refusal));
  expect(() => filledTemplate({ instructions: "x" }, { a: "1" })).toThrow(expect.objectContaining(refusal));
  expect(() => filledTemplate({ instructions: "{{constructor}}" }, {})).toThrow(/constructor is missing/);
});

test("a template whose names occur often does not grow without a limit", () => {
  const often = { instructions: "{{a}}".repeat(1000) };
  expect(() => filledTemplate(often, { a: "x".repeat(10_000) })).toThrow(/more than 4194304 characters/);
});
