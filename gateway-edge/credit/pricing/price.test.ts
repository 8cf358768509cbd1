import fc from "fast-check";
import { affordableOutput, cost, type Prices, unrounded, worstCaseCost } from "./price.ts";
import { disjointUsage, inputTokens, NO_USAGE, totalTokens, type Usage } from "./usage.ts";

const tokens = fc.nat({ max: 5_000_000 });
const usage: fc.Arbitrary<Usage> = fc.record({
  input: tokens,
  cachedInput: tokens,
  cacheWrite: tokens,
  output: tokens,
  reasoning: tokens,
  audioInput: tokens,
  audioOutput: tokens,
  source: fc.constant("provider" as const),
});
const price = fc.bigInt({ min: 0n, max: 10n ** 12n });
const prices: fc.Arbitrary<Prices> = fc.record({
  input: price,
  output: price,
  cachedInput: fc.option(price, { nil: undefined }),
  cacheWrite: fc.option(price, { nil: undefined }),
  audioInput: fc.option(price, { nil: undefined }),
  audioOutput: fc.option(price, { nil: undefined }),
});
const CLASSES = ["input", "cachedInput", "cacheWrite", "output", "reasoning", "audioInput", "audioOutput"] as const;

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
      const input = inputTokens(used);
      expect(worstCaseCost({ input, output: totalTokens(used) - input }, rates) >= cost(used, rates)).toBe(true);
    }),
  );
});

test("what a reservation affords does not cost more than it, unless the floor of one token does", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.nat({ max: 10_000 }), prices, (reserved, input, rates) => {
      const output = affordableOutput(reserved, input, rates);
      if (output === undefined || output > 10 ** 12) return;
      const price = cost({ ...NO_USAGE, input, output }, rates);
      expect(price <= reserved || output === 1).toBe(true);
    }),
  );
});

test("one dollar a million in, two out: 3 tokens in and 5 out are 13,000 nano-USD", () => {
  const used: Usage = { ...NO_USAGE, input: 3, output: 5 };
  expect(cost(used, { input: 1_000_000_000n, output: 2_000_000_000n })).toBe(13_000n);
  expect(cost(used, { input: 0n, output: 0n })).toBe(0n);
  expect(cost({ ...used, input: 1, output: 0 }, { input: 1n, output: 0n })).toBe(1n);
});

const units = ["character", "millisecond", "image", "search"] as const;

test("by another unit than tokens: what stays within the most that was announced never costs more than was set aside for it", () => {
  const amount = fc.record({ input: fc.nat({ max: 50_000_000 }), output: fc.nat({ max: 50_000_000 }) });
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.constantFrom(...units), amount, share, usage, prices, (unit, most, part, used, rates) => {
      const came = { input: Math.floor(most.input * part), output: Math.floor(most.output * part) };
      const set = worstCaseCost({ input: 0, output: 0, amounts: { [unit]: most } }, { ...rates, unit });
      expect(set >= cost({ ...used, amounts: { [unit]: came } }, { ...rates, unit })).toBe(true);
    }),
  );
});

test("a price by characters, milliseconds, images or searches is for a million of them, and tokens beside them cost nothing", () => {
  const used: Usage = {
    ...NO_USAGE,
    input: 1000,
    output: 1000,
    amounts: { character: { input: 20, output: 0 }, image: { input: 1, output: 2 } },
  };
  expect(cost(used, { unit: "character", input: 15_000_000_000n, output: 0n })).toBe(300_000n);
  expect(cost(used, { unit: "image", input: 10_000_000_000_000n, output: 40_000_000_000_000n })).toBe(90_000_000n);
  expect(cost(used, { unit: "search", input: 2_000_000_000_000n, output: 0n })).toBe(0n);
});

test("cache writes that last an hour have their own price, or that of other writes; web searches are billed beside the tokens", () => {
  const used: Usage = { ...NO_USAGE, cacheWrite: 10, cacheWriteHour: 4, amounts: { search: { input: 2, output: 0 } } };
  const rates = { input: 1_000_000n, output: 2_000_000n, cacheWrite: 3_000_000n };
  expect(cost(used, rates)).toBe(30n);
  const priced = { ...rates, cacheWriteHour: 5_000_000n, webSearch: 10_000_000_000n };
  expect(cost(used, priced)).toBe(6n * 3n + 4n * 5n + 20_000n);
  expect(worstCaseCost({ input: 10, output: 0, amounts: { search: { input: 2, output: 0 } } }, priced)).toBe(50n + 20_000n);
});

test("tokens of sound have their own price, or that of their side", () => {
  const used: Usage = { ...NO_USAGE, audioInput: 10, audioOutput: 1 };
  expect(cost(used, { input: 1_000_000n, output: 2_000_000n })).toBe(12n);
  expect(cost(used, { input: 1_000_000n, output: 2_000_000n, audioInput: 5_000_000n, audioOutput: 7_000_000n })).toBe(57n);
});

test("normalized usage is disjoint and adds up to the provider's total, whatever the provider says", () => {
  const reported = fc.record({
    promptTokens: tokens,
    cachedTokens: tokens,
    cacheWriteTokens: tokens,
    completionTokens: tokens,
    reasoningTokens: tokens,
    audioPromptTokens: tokens,
    audioCompletionTokens: tokens,
  });
  fc.assert(
    fc.property(reported, (report) => {
      const used = disjointUsage(report);
      expect(totalTokens(used)).toBe(report.promptTokens + report.completionTokens);
      expect(CLASSES.every((name) => used[name] >= 0)).toBe(true);
    }),
  );
});

test("a price by calls is the same whatever the length, is reserved as it is charged, and is nothing where nothing was answered", () => {
  const prices = { unit: "call", input: 7_500_000n, output: 0n } as const;
  expect(cost({ ...NO_USAGE, input: 1 }, prices)).toBe(8n);
  expect(cost({ ...NO_USAGE, input: 1_000_000, output: 5 }, prices)).toBe(8n);
  expect(worstCaseCost({ input: 1_000_000, output: 4096 }, prices)).toBe(8n);
  expect(cost(NO_USAGE, prices)).toBe(0n);
  expect(affordableOutput(1n, 10, prices)).toBeUndefined();
});

test("no call costs, or may cost, more than a message can carry, whatever numbers come together", () => {
  const most = BigInt(Number.MAX_SAFE_INTEGER);
  const count = fc.maxSafeNat();
  const rate = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
  const rates = fc.record({ input: rate, output: rate, cachedInput: rate, cacheWrite: rate, audioInput: rate, audioOutput: rate });
  const unit = fc.constantFrom("token", "call", ...units);
  fc.assert(
    fc.property(count, count, rates, unit, (input, output, prices, by) => {
      const amounts = { [by]: { input, output } };
      for (const amount of [
        worstCaseCost({ input, output, amounts }, { ...prices, unit: by }),
        cost({ ...NO_USAGE, input, output, amounts }, { ...prices, unit: by }),
      ])
        expect(amount >= 0n && amount <= most).toBe(true);
    }),
  );
  const dear = { input: 10n ** 18n, output: 10n ** 18n };
  expect(worstCaseCost({ input: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER }, dear)).toBe(most);
});
