import { createHash } from "node:crypto";
import fc from "fast-check";
import { hasKeyShape, maskKey, mintSecret, secretSha256 } from "./key-shape.ts";
import { systemRandom } from "./random.ts";

const seeded = (seed: number) => {
  let counter = 0;
  return { bytes: (count: number) => createHash("shake256", { outputLength: count }).update(`${seed}:${counter++}`).digest() };
};

test("every minted key has key shape and no two are equal", () => {
  const keys = Array.from({ length: 500 }, () => mintSecret(systemRandom));
  expect(keys.every(hasKeyShape)).toBe(true);
  expect(new Set(keys).size).toBe(500);
  expect(keys.every((key) => /^sk-[0-9A-Za-z]{38}$/.test(key))).toBe(true);
});

test("any single changed character is noticed", () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 3, max: 40 }), fc.constantFrom(..."0123456789abcXYZ"), (seed, at, other) => {
      const key = mintSecret(seeded(seed));
      const changed = key.slice(0, at) + other + key.slice(at + 1);
      expect(hasKeyShape(changed)).toBe(changed === key);
    }),
  );
});

test("a text that is not a minted key has no key shape", () => {
  fc.assert(fc.property(fc.string(), (text) => !hasKeyShape(text)));
  for (const text of ["", "sk-", "sk-1234", `sk-${"a".repeat(38)}`, `${mintSecret(seeded(1))}\n`, ` ${mintSecret(seeded(1))}`]) {
    expect(hasKeyShape(text)).toBe(false);
  }
});

test("a key that LiteLLM minted has key shape: it may have been imported", () => {
  expect(["sk-AbCdEfGhIjKlMnOpQrStUv", "sk-Ab_dEfGhIjKlMnOpQrSt-v"].map(hasKeyShape)).toEqual([true, true]);
  expect(["sk-AbCdEfGhIjKlMnOpQrStUvW", "sk-AbCdEfGhIjKlMnOpQrSt", "sk-AbCdEfGhIjKlMnOpQrSt=="].map(hasKeyShape)).toEqual([
    false,
    false,
    false,
  ]);
});

test("bytes that would favor some digits are discarded", () => {
  // Prepare: a source whose first bytes are all above the unbiased range.
  let calls = 0;
  const key = mintSecret({ bytes: (count) => Buffer.alloc(count, calls++ === 0 ? 255 : 10) });
  // Assert
  expect(key.slice(3, 35)).toBe("A".repeat(32));
  expect(calls).toBe(2);
});

test("digits are spread evenly", () => {
  const counts = new Map<string, number>();
  const source = seeded(7);
  for (let index = 0; index < 2000; index++) {
    for (const digit of mintSecret(source).slice(3, 35)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  }
  expect(counts.size).toBe(62);
  // 64,000 draws over 62 digits: about 1032 each, standard deviation about 32.
  for (const count of counts.values()) expect(Math.abs(count - 1032)).toBeLessThan(200);
});

test("the mask shows the last four characters only, the hash is plain SHA-256", () => {
  const key = mintSecret(seeded(3));
  expect(maskKey(key)).toBe(`sk-...${key.slice(-4)}`);
  expect(secretSha256(key)).toEqual(createHash("sha256").update(key).digest());
});
