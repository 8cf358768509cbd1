import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { addWords, fixedPointFor, fromWords, toWords } from "./fixed-point.ts";
import { joinShares, splitSecret } from "./shamir.ts";

describe("fixed point", () => {
  test("a sum of words is the sum of the values to half a step each, and the same bits in any order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.double({ min: -8, max: 8, noNaN: true }), { minLength: 5, maxLength: 5 }), { minLength: 1, maxLength: 20 }),
        (clients) => {
          const fixed = fixedPointFor({ clients: clients.length, limit: 8 });
          const sum = (of: readonly number[][]): Uint32Array => {
            const total = new Uint32Array(5);
            for (const values of of) addWords(total, toWords(values, fixed));
            return total;
          };
          expect(sum(clients)).toEqual(sum(clients.toReversed()));
          fromWords(sum(clients), fixed).forEach((value, column) => {
            const exact = clients.reduce((total, values) => total + (values[column] as number), 0);
            expect(Math.abs(value - exact)).toBeLessThanOrEqual((clients.length / 2) * 2 ** -fixed.fractionBits + 1e-12);
          });
        },
      ),
      { numRuns: 100 },
    );
  });

  test("the greatest values of all clients together do not go over the end", () => {
    for (const [clients, limit] of [
      [1, 1],
      [3, 0.1],
      [1000, 7],
      [255, 1e6],
    ] as const) {
      const fixed = fixedPointFor({ clients, limit });
      const total = new Uint32Array(2);
      for (let client = 0; client < clients; client++) addWords(total, toWords([limit, -limit], fixed));
      const [high = 0, low = 0] = fromWords(total, fixed);
      expect(high).toBeGreaterThan(0);
      expect(Math.abs(high / (clients * limit) - 1)).toBeLessThan(1e-2);
      expect(low).toBeLessThan(0);
    }
  });

  test("what is added and taken again leaves nothing, and what is beyond the limit or no number is refused by its place", () => {
    const [start, mask] = [Uint32Array.of(1, 2 ** 32 - 1, 7), Uint32Array.of(2 ** 32 - 5, 3, 2 ** 31)];
    const words = start.slice();
    addWords(words, mask);
    expect(words).not.toEqual(start);
    addWords(
      words,
      mask.map((word) => -word),
    );
    expect(words).toEqual(start);
    const fixed = fixedPointFor({ clients: 2, limit: 1 });
    expect(() => toWords([0, 1.01], fixed)).toThrow("value 1 is 1.01");
    expect(() => toWords([Number.NaN], fixed)).toThrow("value 0 is NaN");
    expect(() => addWords(words, new Uint32Array(2))).toThrow("2 words");
  });
});

describe("Shamir's shares", () => {
  const split = (secret: Uint8Array, shares: number, threshold: number) => splitSecret(secret, { shares, threshold, randomBytes });

  test("any threshold of them give the secret, in any order", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer(),
        (secret, threshold, seed) => {
          const shares = split(secret, 9, threshold);
          const chosen = shares.toSorted((left, right) => ((left.at * 7 + seed) % 11) - ((right.at * 7 + seed) % 11)).slice(0, threshold);
          expect(joinShares(chosen)).toEqual(Uint8Array.from(secret));
        },
      ),
      { numRuns: 60 },
    );
  });

  test("with one share fewer every secret is as likely: each value of the missing share gives another one", () => {
    const shares = split(Uint8Array.of(42), 3, 3);
    const seen = new Set<number>();
    for (let guess = 0; guess < 256; guess++)
      seen.add(joinShares([...shares.slice(0, 2), { at: 3, bytes: Uint8Array.of(guess) }])[0] as number);
    expect(seen.size).toBe(256);
  });

  test("255 shares are the most, and what cannot be joined is refused", () => {
    expect(joinShares(split(Uint8Array.of(1, 2), 255, 2).slice(253))).toEqual(Uint8Array.of(1, 2));
    expect(() => split(Uint8Array.of(1), 256, 2)).toThrow("1 to 255 shares");
    expect(() => split(Uint8Array.of(1), 3, 4)).toThrow("threshold");
    const [share] = split(Uint8Array.of(1), 2, 2);
    if (!share) throw new Error("no share");
    expect(() => joinShares([share, share])).toThrow("same place");
    expect(() => joinShares([])).toThrow("needs a share");
  });
});
