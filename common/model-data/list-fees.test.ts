import type { Price } from "../pricing.ts";
import { configuredPrice } from "./configured-price.ts";
import { withListFees } from "./list-fees.ts";
import { findModelData } from "./model-data.ts";

const TOKENS: Price = { input: 1n, output: 2n };

test("a price of tokens alone has the list's fees of its provider, and its own fees count before them", () => {
  expect(withListFees(TOKENS, "openai")).toMatchObject({
    ...TOKENS,
    webSearch: 10_000_000_000_000n,
    fees: { fileSearch: 2_500_000_000_000n },
  });
  expect(withListFees({ ...TOKENS, webSearch: 0n, fees: { fileSearch: 7n } }, "openai")).toMatchObject({
    webSearch: 0n,
    fees: { fileSearch: 7n },
  });
  expect(withListFees(TOKENS, "perplexity").fees).toMatchObject({ requestHigh: 14_000_000_000_000n });
});

test("a price by another unit, and one of a provider without fees, stay as they are", () => {
  const byCall = { ...TOKENS, unit: "call" as const };
  expect(withListFees(byCall, "openai")).toEqual(byCall);
  expect(withListFees(TOKENS, "ollama")).toEqual(TOKENS);
});

test("a fee that is set without a price of tokens is added to the list price", () => {
  const data = findModelData({ kind: "openai", model: "gpt-4o" });
  const price = configuredPrice(
    {},
    { image_generation_cost_per_image: 0.04, search_context_cost_per_query: 0.03 },
    { kind: "openai", data },
  );
  expect(price).toMatchObject({
    source: "data",
    input: data?.pricing?.input,
    webSearch: 30_000_000_000_000n,
    fees: { generatedImage: 40_000_000_000_000n, webSearchPreview: 30_000_000_000_000n, fileSearch: 2_500_000_000_000n },
  });
});

test.each(["gpt-5.1-codex-mini", "o3-pro", "gpt-4o"])("every chat model of OpenAI and Azure has a price of web searches: %s", (model) => {
  for (const kind of ["openai", "azure"]) expect(findModelData({ kind, model })?.pricing?.webSearch).toBe(10_000_000_000_000n);
});
