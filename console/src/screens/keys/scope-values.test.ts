import { SCOPE_CHOICES, scopesOf, scopeValue } from "./scope-values.ts";

describe("what a key is used for", () => {
  test("a key that is edited keeps its scopes, whatever they are", () => {
    for (const scopes of [null, ["inference"], ["train"]]) expect(scopesOf(scopeValue(scopes))).toEqual(scopes);
  });

  test("a key that names both scopes, and a new one, may do all that a key may", () => {
    expect(scopesOf(scopeValue(["inference", "train"]))).toBeNull();
    expect(scopesOf(scopeValue(undefined))).toBeNull();
  });

  test("every choice of the form is a scope or none", () => {
    expect(SCOPE_CHOICES.map(({ value }) => scopesOf(value))).toEqual([null, ["inference"], ["train"]]);
  });
});
