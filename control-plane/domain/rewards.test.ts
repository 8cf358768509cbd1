import fc from "fast-check";
import { shareOut } from "./rewards.ts";

const contribution = fc.oneof(fc.double(), fc.double({ min: 0, max: 1 }), fc.integer({ min: 0, max: 10_000 }), fc.constant(0));
const contributions = fc.array(contribution, { minLength: 1, maxLength: 50 });
const budget = fc.bigInt({ min: 0n, max: 10n ** 18n });

test("shares sum to the budget exactly, and none is below zero, whatever the contributions are", () => {
  fc.assert(
    fc.property(budget, contributions, (amount, given) => {
      const shares = shareOut(amount, given);
      expect(shares).toHaveLength(given.length);
      expect(shares.every((share) => share >= 0n)).toBe(true);
      expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(amount);
    }),
  );
});

test("who contributed more never gets less, and equal contributions differ by one nano-USD at most", () => {
  fc.assert(
    fc.property(budget, fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 2, maxLength: 20 }), (amount, given) => {
      const shares = shareOut(amount, given);
      for (const [one, share] of shares.entries()) {
        for (const [other, against] of shares.entries()) {
          const difference = (given[one] as number) - (given[other] as number);
          if (difference > 0) expect(share >= against).toBe(true);
          if (difference === 0) expect(share - against <= 1n).toBe(true);
        }
      }
    }),
  );
});

test("what is left over goes to the largest remainders, the earlier first", () => {
  expect(shareOut(100n, [1, 1, 1])).toEqual([34n, 33n, 33n]);
  expect(shareOut(10n, [3, 1])).toEqual([8n, 2n]);
  expect(shareOut(7n, [0, 0])).toEqual([4n, 3n]);
  expect(shareOut(7n, [0, 5, Number.NaN, -3])).toEqual([0n, 7n, 0n, 0n]);
});

test("a budget without participants, or below zero, is a bug", () => {
  expect(() => shareOut(5n, [])).toThrow("at least one contribution");
  expect(() => shareOut(-1n, [1])).toThrow("cannot be -1");
});
