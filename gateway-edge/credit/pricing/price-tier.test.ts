import fc from "fast-check";
import type { PriceMessage } from "../../../common/pricing.ts";
import { listedPrices } from "../../calls/inference/listed-model.ts";
import { deployment } from "../../server/http/testing/edge-fixture.ts";
import { cost, worstCaseCost } from "./price.ts";
import { dearestPrices, pricesAt } from "./price-tier.ts";
import { inputTokens, NO_USAGE } from "./usage.ts";

const tiered: PriceMessage = {
  input: 3n,
  output: 15n,
  cachedInput: 1n,
  tiers: {
    tiers: [
      { aboveInputTokens: 100, input: 4n, output: 16n, cachedInput: undefined, cacheWrite: undefined },
      { aboveInputTokens: 200, input: 6n, output: 22n, cachedInput: 2n, cacheWrite: 9n },
    ],
  },
};

test("the highest tier that the input exceeds prices the whole call", () => {
  expect(pricesAt(tiered, { inputTokens: 100 })).toMatchObject({ input: 3n, output: 15n, cachedInput: 1n });
  expect(pricesAt(tiered, { inputTokens: 101 })).toMatchObject({ input: 4n, output: 16n, cachedInput: undefined });
  expect(pricesAt(tiered, { inputTokens: 201 })).toMatchObject({ input: 6n, output: 22n, cachedInput: 2n, cacheWrite: 9n });
});

test("a call is reserved at a tier that our count is near to, and not at one out of its reach", () => {
  expect(dearestPrices(tiered, { inputTokens: 60 })).toMatchObject({ input: 3n, output: 15n });
  expect(dearestPrices(tiered, { inputTokens: 70 })).toMatchObject({ input: 4n, output: 16n });
  expect(dearestPrices(tiered, { inputTokens: 134 })).toMatchObject({ input: 6n, output: 22n });
});

test("images are billed by size and quality, and reserved at the highest price that the provider may choose", () => {
  const images: PriceMessage = {
    unit: "image",
    input: 0n,
    output: 4n,
    images: { prices: { "standard/1024x1024": 4n, "hd/1024x1024": 8n } },
  };
  expect(pricesAt(images, { inputTokens: 0, image: "hd/1024x1024" })).toMatchObject({ output: 8n });
  expect(dearestPrices(images, { inputTokens: 0 })).toMatchObject({ output: 4n });
  expect(dearestPrices(images, { inputTokens: 0, image: "auto" })).toMatchObject({ output: 8n });
});

const price = fc.bigInt({ min: 0n, max: 10n ** 12n });
const optional = fc.option(price, { nil: undefined });
const prices = fc.record({ input: price, output: price, cachedInput: optional, cacheWrite: optional });

test("what is settled never exceeds what was reserved, while the provider counts at most half above us", () => {
  const tiers = fc
    .uniqueArray(fc.integer({ min: 1, max: 5000 }), { maxLength: 4 })
    .chain((starts) =>
      fc.tuple(
        ...starts.sort((left, right) => left - right).map((aboveInputTokens) => prices.map((each) => ({ aboveInputTokens, ...each }))),
      ),
    );
  const shares = fc.record({ cached: fc.nat(100), written: fc.nat(100), output: fc.nat(1000) });
  fc.assert(
    fc.property(prices, tiers, fc.nat(6000), shares, (base, list, counted, { cached, written, output }) => {
      const all: PriceMessage = { ...base, tiers: { tiers: list } };
      const actual = Math.floor(counted * 1.5);
      const cachedInput = Math.floor((actual * cached) / 100);
      const cacheWrite = Math.floor(((actual - cachedInput) * written) / 100);
      const usage = { ...NO_USAGE, input: actual - cachedInput - cacheWrite, cachedInput, cacheWrite, output };
      expect(inputTokens(usage)).toBe(actual);
      const reserved = worstCaseCost({ input: actual, output }, dearestPrices(all, { inputTokens: counted }));
      expect(cost(usage, pricesAt(all, { inputTokens: actual })) <= reserved).toBe(true);
    }),
  );
});

test("the public list's tiers are known under a wildcard too", () => {
  const claude = deployment({ modelName: "anthropic/*", providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5" });
  expect(listedPrices(claude)?.tiers?.tiers).toMatchObject([{ aboveInputTokens: 200_000, input: 6_000_000_000n }]);
});
