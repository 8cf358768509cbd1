import type { ListedModel } from "../../../api/types.ts";
import { isAtListPrice, modelBody, pickOf, problemsOf } from "./picks.ts";

const TIER = {
  aboveInputTokens: 200_000,
  input: 5,
  inputUsd: "0",
  output: 6,
  outputUsd: "0",
  cachedInput: 1,
  cacheWrite: null,
  cacheWriteHour: null,
};
const LISTED: ListedModel = {
  inferenceModelId: "gpt-4o-mini",
  type: "chat",
  contextWindow: 128_000,
  maxOutputTokens: null,
  capabilities: [],
  pricing: {
    ...{ unit: "token", input: 150_000_000, inputUsd: "0.15", output: 600_000_000, outputUsd: "0.60" },
    ...{ cachedInput: 75_000_000, cacheWrite: null, cacheWriteHour: null, audioInput: null, audioOutput: null, webSearch: 9 },
    ...{ fees: { fileSearch: 7 }, tiers: [TIER] },
  },
};

test("a model at its list price is sent without a price, so that the catalog takes the list's", () => {
  const pick = pickOf(LISTED);
  expect([pick.name, pick.input, pick.output, isAtListPrice(pick)]).toEqual(["gpt-4o-mini", "0.15", "0.6", true]);
  expect(modelBody({ ...pick, name: " fast ", input: "0.150" }, "prov_1")).toEqual({
    ...{ name: "fast", provider: "prov_1", inferenceModelId: "gpt-4o-mini", type: "chat" },
  });
});

test("an own price replaces input and output, and all other prices of the list stay", () => {
  expect(modelBody({ ...pickOf(LISTED), input: "0.20" }, "prov_1")).toMatchObject({
    pricing: {
      ...{ unit: "token", input: 200_000_000, output: 600_000_000, cachedInput: 75_000_000, webSearch: 9, fees: { fileSearch: 7 } },
      tiers: [{ aboveInputTokens: 200_000, input: 5, output: 6, cachedInput: 1 }],
    },
  });
});

test("a model without a list price needs one, and zero has to be written", () => {
  const unpriced = pickOf({ ...LISTED, pricing: null });
  expect(isAtListPrice(unpriced)).toBe(false);
  expect(problemsOf(unpriced)).toEqual({ input: "No list price: enter one" });
  expect(problemsOf({ ...unpriced, input: "0" })).toEqual({});
  expect(modelBody({ ...unpriced, input: "0" }, "prov_1")).toMatchObject({ pricing: { unit: "token", input: 0, output: 0 } });
});

test("texts that are no price or no name are named by field", () => {
  expect(problemsOf({ ...pickOf(LISTED), name: " ", output: "cheap" })).toEqual({
    name: "Enter a name",
    output: "Enter an amount, such as 0.15",
  });
  expect(isAtListPrice({ ...pickOf(LISTED), output: "cheap" })).toBe(false);
});
