import { GUARDRAIL_KINDS, PII_ENTITIES } from "../../../common/guardrails/kinds.ts";
import { silentLogger } from "../../../common/logger.ts";
import { compileGuardrails } from "./guardrail-settings.ts";
import { PII_NAMES } from "./pii-patterns.ts";
import { checkGuardrail, type GuardrailDraft, tryGuardrail } from "./try-guardrail.ts";

const words = (action: string): GuardrailDraft => ({ kind: "word-list", settings: { words: ["s3cret"], action } });

test.each([
  [words("block"), "pre", "the s3cret", { action: "block", text: null, reason: "it matches a word of the list" }],
  [words("mask"), "post", "the s3cret", { action: "mask", text: "the [REDACTED]", reason: null }],
  [words("block"), "pre", "hello", { action: "allow", text: "hello", reason: null }],
  [{ kind: "pii-masking", settings: {} }, "pre", "to ada@example.org", { action: "mask", text: "to [EMAIL_1]", reason: null }],
  // A request is no response, which alone this kind checks.
  [{ kind: "json-schema", settings: { schema: { type: "object" } } }, "pre", "no JSON", { action: "allow", text: "no JSON", reason: null }],
  [{ kind: "json-schema", settings: { schema: { type: "object" } } }, "post", "no JSON", { action: "block", text: null }],
] as const)("a draft decides about a text as a guardrail would (%#)", (draft, stage, text, expected) => {
  expect(tryGuardrail(draft, { text, stage })).toMatchObject(expected);
});

test("a moderation model is not called, because its calls are billed", () => {
  const draft = { kind: "moderation-model", settings: { model: "m" } };
  expect(() => checkGuardrail(draft)).not.toThrow();
  expect(() => tryGuardrail(draft, { text: "a", stage: "pre" })).toThrow(/billed/);
});

test.each([
  [{ kind: "word-list", settings: { words: [] } }, "body.settings.words"],
  [{ kind: "prompt-size", settings: { max_characters: 0 } }, "body.settings.max_characters"],
  [{ kind: "json-schema", settings: { schema: { type: "nonsense" } } }, "body.settings.schema"],
  [{ kind: "regex", settings: { patterns: ["("] } }, "body.settings.patterns"],
  [{ kind: "regex", settings: { patterns: ["^(a+)+$"] } }, "body.settings.patterns"],
])("settings that an edge cannot use, or that would hold up calls, are refused at their field (%#)", (draft, path) => {
  expect(() => checkGuardrail(draft)).toThrow(
    expect.objectContaining({ code: "VALIDATION_ERROR", details: [expect.objectContaining({ path })] }),
  );
});

test("a guardrail that is off is known, and applies to no call", () => {
  const entry = (name: string, more: object) => ({
    guardrail_name: name,
    litellm_params: { guardrail: "word-list", words: ["a"], default_on: true },
    ...more,
  });
  const options = { moderate: () => Promise.reject(new Error("none")), logger: silentLogger };
  const known = compileGuardrails(JSON.stringify({ guardrails: [entry("on", {}), entry("off", { enabled: false })] }), options);
  expect([...known.values()].map(({ name, enabled }) => [name, enabled])).toEqual([
    ["on", true],
    ["off", false],
  ]);
});

test("the kinds that can be chosen are those that edges have", () => {
  expect([...PII_ENTITIES].sort()).toEqual([...PII_NAMES].sort());
  const options = { moderate: () => Promise.reject(new Error("none")), logger: silentLogger };
  const settings = { words: ["a"], patterns: ["a"], schema: {}, model: "m" };
  const guardrails = Object.keys(GUARDRAIL_KINDS).map((guardrail) => ({
    guardrail_name: guardrail,
    litellm_params: { guardrail, ...settings },
  }));
  expect([...compileGuardrails(JSON.stringify({ guardrails }), options).keys()]).toEqual(Object.keys(GUARDRAIL_KINDS));
});
