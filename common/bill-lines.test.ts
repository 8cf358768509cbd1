import fc from "fast-check";
import { billLines } from "./bill-lines.ts";
import { COUNTED_FEES, FEE_NAMES, unroundedFeeCost } from "./fees.ts";
import { unroundedTokenCost } from "./pricing.ts";

const count = fc.nat({ max: 1_000_000 });
const price = fc.bigInt({ min: 0n, max: 10n ** 14n });
const optional = fc.option(price, { nil: undefined });
const fees = fc.record(Object.fromEntries(FEE_NAMES.map((name) => [name, price])));
const prices = fc.record({
  input: price,
  output: price,
  cachedInput: optional,
  cacheWrite: optional,
  cacheWriteHour: optional,
  audioInput: optional,
  audioOutput: optional,
  webSearch: price,
  fees,
});
const counted = fc.record(
  Object.fromEntries(["search", ...COUNTED_FEES].map((name) => [name, fc.record({ input: count, output: fc.constant(0) })])),
);

test("the lines of any call add up to what it costs: every class of tokens, every fee, each on a line of its own", () => {
  const classes = fc.record({ input: count, cachedInput: count, cacheWrite: count, output: count, reasoning: count });
  const parts = fc.record({ hour: fc.nat(100), images: fc.nat(100), audioInput: count, audioOutput: count });
  fc.assert(
    fc.property(classes, parts, counted, prices, (tokens, { hour, images, audioInput, audioOutput }, amounts, rates) => {
      const part = (whole: number, percent: number) => Math.floor((whole * percent) / 100);
      const imageToken = { input: part(tokens.input, images), output: part(tokens.output, images) };
      const cacheWriteHour = part(tokens.cacheWrite, hour);
      const all = { ...amounts, imageToken };
      const cost = unroundedTokenCost({ ...tokens, cacheWriteHour, audioInput, audioOutput }, rates) + unroundedFeeCost(all, rates);
      const usage = { ...tokens, cacheWriteHour, audio: audioInput + audioOutput, audioOutput, amounts: all };
      const lines = billLines(usage, { unit: "token", ...rates });
      expect(lines.reduce((sum, { unrounded }) => sum + unrounded, 0n)).toBe(cost);
      expect(new Set(lines.map(({ name }) => name)).size).toBe(lines.length);
      expect(lines.every(({ amount }) => amount > 0n)).toBe(true);
    }),
  );
});

test("a model that is priced by another unit has lines of that unit only", () => {
  const usage = { input: 5, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0, audio: 0, amounts: { image: { input: 0, output: 2 } } };
  const lines = billLines(usage, { unit: "image", input: 0n, output: 40_000_000_000_000n });
  expect(lines).toEqual([
    { name: "image", title: "images, output", amount: 2n, price: 40_000_000_000_000n, unrounded: 80_000_000_000_000n },
  ]);
  const [line] = billLines({ ...usage, image: "hd/1024x1792" }, { unit: "image", input: 0n, output: 1n });
  expect(line?.title).toBe("images, output, hd/1024x1792");
});
