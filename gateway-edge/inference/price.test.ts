import fc from "fast-check";
import { affordableOutput, cost, type Prices, unrounded, worstCaseCost } from "./price.ts";
import { disjointUsage, totalTokens, type Usage } from "./usage.ts";

const tokens = fc.nat({ max: 5_000_000 });
const usage: fc.Arbitrary<Usage> = fc.record({
  input: tokens,
  cachedInput: tokens,
  cacheWrite: tokens,
  output: tokens,
  reasoning: tokens,
  source: fc.constant("provider" as const),
});
const price = fc.bigInt({ min: 0n, max: 10n ** 12n });
const prices: fc.Arbitrary<Prices> = fc.record({
  input: price,
  output: price,
  cachedInput: fc.option(price, { nil: undefined }),
  cacheWrite: fc.option(price, { nil: undefined }),
});
const CLASSES = ["input", "cachedInput", "cacheWrite", "output", "reasoning"] as const;

test("a cost is never negative, and more tokens never cost less", () => {
  fc.assert(
    fc.property(usage, prices, fc.constantFrom(...CLASSES), tokens, (used, rates, grown, extra) => {
      const before = cost(used, rates);
      expect(before >= 0n).toBe(true);
      expect(cost({ ...used, [grown]: used[grown] + extra }, rates) >= before).toBe(true);
    }),
  );
});

test("before rounding costs add up; rounding adds less than one nano-USD, once", () => {
  fc.assert(
    fc.property(usage, usage, prices, (left, right, rates) => {
      const sum = Object.fromEntries(CLASSES.map((name) => [name, left[name] + right[name]])) as unknown as Usage;
      expect(unrounded(sum, rates)).toBe(unrounded(left, rates) + unrounded(right, rates));
      const exact = unrounded(left, rates);
      const rounded = cost(left, rates) * 1_000_000n;
      expect(rounded >= exact && rounded - exact < 1_000_000n).toBe(true);
    }),
  );
});

test("the worst case covers every way the same tokens can be classed", () => {
  fc.assert(
    fc.property(usage, prices, (used, rates) => {
      const input = used.input + used.cachedInput + used.cacheWrite;
      expect(worstCaseCost({ input, output: used.output + used.reasoning }, rates) >= cost(used, rates)).toBe(true);
    }),
  );
});

test("what a reservation affords does not cost more than it, unless the floor of one token does", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.nat({ max: 10_000 }), prices, (reserved, input, rates) => {
      const output = affordableOutput(reserved, input, rates);
      if (output === undefined || output > 10 ** 12) return;
      const price = cost({ input, cachedInput: 0, cacheWrite: 0, output, reasoning: 0, source: "provider" }, rates);
      expect(price <= reserved || output === 1).toBe(true);
    }),
  );
});

test("one dollar a million in, two out: 3 tokens in and 5 out are 13,000 nano-USD", () => {
  const used: Usage = { input: 3, cachedInput: 0, cacheWrite: 0, output: 5, reasoning: 0, source: "provider" };
  expect(cost(used, { input: 1_000_000_000n, output: 2_000_000_000n })).toBe(13_000n);
  expect(cost(used, { input: 0n, output: 0n })).toBe(0n);
  expect(cost({ ...used, input: 1, output: 0 }, { input: 1n, output: 0n })).toBe(1n);
});

test("normalised usage is disjoint and adds up to the provider's total, whatever the provider says", () => {
  const reported = fc.record({
    promptTokens: tokens,
    cachedTokens: tokens,
    cacheWriteTokens: tokens,
    completionTokens: tokens,
    reasoningTokens: tokens,
  });
  fc.assert(
    fc.property(reported, (report) => {
      const used = disjointUsage(report);
      expect(totalTokens(used)).toBe(report.promptTokens + report.completionTokens);
      expect(CLASSES.every((name) => used[name] >= 0)).toBe(true);
    }),
  );
});
