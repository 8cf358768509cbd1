import { priceLines } from "./price-lines.ts";

const NOTHING = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0, audio: 0, total: 0, source: "provider" };

test("the lines of the bill are shown as the API gives them", () => {
  const lines = [
    { name: "input", title: "input", amount: 3, price: 150_000_000, costUsd: "0.00000045" },
    { name: "search", title: "web searches", amount: 2, price: 10_000_000_000_000, costUsd: "0.02" },
  ];
  expect(priceLines({ usage: { ...NOTHING, input: 3 } }, { lines })).toEqual([
    { title: "Input", amount: 3, unit: "", price: 150_000_000, costUsd: "$0.00000045" },
    { title: "Web searches", amount: 2, unit: "", price: 10_000_000_000_000, costUsd: "$0.02" },
  ]);
});

test("without prices the amounts are shown alone: tokens by class, and other units", () => {
  const usage = { ...NOTHING, cachedInput: 3, amounts: { image: { input: 0, output: 2 } } };
  const expected = [
    { title: "Cached input", amount: 3, unit: "token", price: undefined, costUsd: undefined },
    { title: "Image", amount: 2, unit: "image", price: undefined, costUsd: undefined },
  ];
  expect(priceLines({ usage }, undefined)).toEqual(expected);
  expect(priceLines({ usage }, { lines: [] })).toEqual(expected);
});
