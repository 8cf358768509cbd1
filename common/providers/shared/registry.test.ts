import { paramsOf } from "./params.ts";
import { guessKind, kindOfPrefix, PROVIDER_KINDS } from "./registry.ts";

test("a kind and a prefix exist once, and the kind is one of its prefixes", () => {
  const prefixes = PROVIDER_KINDS.flatMap((each) => each.prefixes);
  expect(new Set(prefixes).size).toBe(prefixes.length);
  for (const { kind, prefixes: own } of PROVIDER_KINDS) expect(own).toContain(kind);
  expect(kindOfPrefix("Together_AI")?.kind).toBe("together");
  expect(kindOfPrefix("unknown")).toBeUndefined();
});

test.each(PROVIDER_KINDS)(
  "$kind: any model has parameters, each named once, and an address is either declared or required",
  (declaration) => {
    const { baseUrl, needsBaseUrl, compatible, operations } = declaration;
    const params = paramsOf(declaration, "chat")("any model at all");
    expect(params).toEqual([...new Set(params)]);
    expect(params).toEqual(expect.arrayContaining(["max_tokens", "max_completion_tokens", "stream"]));
    expect(operations).toEqual([...new Set(operations)]);
    expect(baseUrl !== undefined && needsBaseUrl).toBeFalsy();
    if (compatible) expect(baseUrl !== undefined || needsBaseUrl).toBe(true);
  },
);

test.each([
  ["gpt-4o", "openai"],
  ["claude-3-haiku-20240307", "anthropic"],
  ["gemini-2.5-pro", "gemini"],
  ["command-r-plus", "cohere"],
  ["mistral-large-latest", "mistral"],
  ["mistral.mistral-large-2402-v1:0", "bedrock"],
  ["my-own-model", "openai"],
])("%s without a prefix is %s", (model, kind) => {
  expect(guessKind(model).kind).toBe(kind);
});
