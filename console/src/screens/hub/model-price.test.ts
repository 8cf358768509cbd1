import type { Model } from "../../api/types.ts";
import { priceLines, priceText } from "./model-price.ts";

const NO_OTHERS = { cachedInput: null, cacheWrite: null, cacheWriteHour: null, audioInput: null, audioOutput: null, webSearch: null };
const model = (pricing: object | null) =>
  ({
    pricing: pricing && { ...NO_OTHERS, ...pricing },
  }) as unknown as Model;

test("tokens are priced per million in USD, classes without a price are omitted", () => {
  const priced = model({ unit: "token", input: 150_000_000, output: 600_000_000, cachedInput: 75_000_000 });
  expect(priceLines(priced).map(({ name, usd }) => `${name} ${usd}`)).toEqual(["Input 0.15", "Cached input 0.075", "Output 0.6"]);
  expect(priceText(priced, "input")).toBe("$0.15");
});

test("prices that are not per token are shown in the usual unit", () => {
  const image = model({ unit: "image", input: 0, output: 40_000_000_000_000 });
  expect(priceText(image, "output")).toBe("$0.0400 / image");
  expect(priceText(model({ unit: "millisecond", input: 100_000_000, output: 0 }), "input")).toBe("$0.0060 / minute");
});

test("a free model and one without a price are not the same", () => {
  expect(priceText(model({ unit: "token", input: 0, output: 0 }), "input")).toBe("free");
  expect(priceText(model(null), "input")).toBe("no price");
});

test("web searches beside tokens are priced per thousand", () => {
  const priced = model({ unit: "token", input: 3_000_000_000, output: 0, cacheWriteHour: 6_000_000_000, webSearch: 10_000_000_000_000 });
  expect(priceLines(priced).map(({ name, usd, per }) => `${name} ${usd} ${per}`)).toEqual([
    "Input 3 1M tokens",
    "Cache write, 1 hour 6 1M tokens",
    "Web search 10 1,000 searches",
  ]);
});
