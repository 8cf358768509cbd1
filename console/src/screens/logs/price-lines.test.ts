import type { SignedReceipt, UsageLog } from "../../api/types.ts";
import { priceCall } from "./price-lines.ts";

const NOTHING = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0, audio: 0, total: 0, source: "provider" };
const usage = (fields: Partial<UsageLog["usage"]>): UsageLog["usage"] => ({ ...NOTHING, ...fields });
const PRICES: NonNullable<SignedReceipt["receipt"]["prices"]> = {
  unit: "token",
  input: 150_000_000,
  output: 600_000_000,
  cachedInput: 75_000_001,
  cacheWrite: null,
  audioInput: null,
  audioOutput: null,
};

test("every class is a line with its price, and the exact lines rounded up once are what was charged", () => {
  const used = usage({ input: 3, cachedInput: 1, output: 2, reasoning: 1 });
  // 3 × 150 + 75.000001 + 3 × 600 nano-USD = 2325.000001, rounded up.
  const { lines, costs } = priceCall({ usage: used, costUsd: "0.000002326" }, PRICES);
  expect(lines.map(({ title, amount, price }) => [title, amount, price])).toEqual([
    ["Input", 3, 150_000_000],
    ["Cached input", 1, 75_000_001],
    ["Output", 2, 600_000_000],
    ["Reasoning", 1, 600_000_000],
  ]);
  expect(costs).toEqual(["$0.00000045", "$0.000000075000001", "$0.0000012", "$0.0000006"]);
});

test("lines that do not add up to the charge have no costs: a price tier, a cached response, a missing receipt", () => {
  const used = usage({ input: 3 });
  expect(priceCall({ usage: used, costUsd: "0.0000009" }, PRICES).costs).toBeUndefined();
  expect(priceCall({ usage: used, costUsd: "0" }, PRICES).costs).toBeUndefined();
  expect(priceCall({ usage: used, costUsd: "0.00000045" }, undefined)).toEqual({
    lines: [{ title: "Input", amount: 3, unit: "token", price: undefined }],
    costs: undefined,
  });
});

test("characters, milliseconds and images have lines too", () => {
  const used = usage({ amounts: { image: { input: 0, output: 2 } } });
  const { lines, costs } = priceCall({ usage: used, costUsd: "0.08" }, { ...PRICES, unit: "image", input: 0, output: 40_000_000_000_000 });
  expect(lines).toEqual([{ title: "Output", amount: 2, unit: "image", price: 40_000_000_000_000 }]);
  expect(costs).toEqual(["$0.08"]);
});

test("cache writes that last an hour and web searches are lines of their own", () => {
  const used = usage({ input: 1, cacheWrite: 5, cacheWriteHour: 3, amounts: { search: { input: 2, output: 0 } } });
  const prices = { ...PRICES, cacheWrite: 200_000_000, cacheWriteHour: 400_000_000, webSearch: 10_000_000_000_000 };
  // 150 + 2 × 200 + 3 × 400 nano-USD, and two searches at a cent.
  const { lines, costs } = priceCall({ usage: used, costUsd: "0.02000175" }, prices);
  expect(lines.map(({ title, amount, unit }) => [title, amount, unit])).toEqual([
    ["Input", 1, "token"],
    ["Cache write", 2, "token"],
    ["Cache write, 1 hour", 3, "token"],
    ["Web search", 2, "search"],
  ]);
  expect(costs).toEqual(["$0.00000015", "$0.0000004", "$0.0000012", "$0.02"]);
});
