import { type Draft, draftOf, type GuardrailKind, settingsOf } from "./draft.ts";

const field = (name: string, type: GuardrailKind["settings"][number]["type"], more = {}) => ({
  name,
  type,
  required: false,
  choices: null,
  about: "",
  ...more,
});
const kind: GuardrailKind = {
  kind: "all",
  about: "",
  stage: null,
  settings: [
    field("words", "texts", { required: true }),
    field("entities", "texts", { choices: ["EMAIL", "IBAN"] }),
    field("patterns", "patterns"),
    field("max", "count"),
    field("unmask", "flag"),
    field("schema", "object"),
    field("action", "text", { choices: ["block", "mask"] }),
  ],
};

test("what the form shows of settings is sent back as it was", () => {
  const settings = {
    words: ["one", "two words"],
    entities: ["IBAN"],
    patterns: ["a+", { pattern: "b", name: "B" }],
    max: 7,
    unmask: true,
    schema: { type: "object", $ref: "#/x" },
    action: "mask",
  };
  expect(settingsOf(kind, draftOf(kind, settings))).toEqual({ settings, problems: {} });
});

test("fields that are left open are not sent; a required one, and one that cannot be read, is a problem of its field", () => {
  const open = draftOf(kind, {});
  expect(settingsOf(kind, open)).toEqual({ settings: {}, problems: { words: "Required" } });
  const wrong: Draft = { ...open, words: " a \n\n b ", max: "many", schema: "{" };
  expect(settingsOf(kind, wrong)).toEqual({
    settings: { words: ["a", "b"] },
    problems: { max: "Must be a whole number", schema: "Must be JSON" },
  });
});
