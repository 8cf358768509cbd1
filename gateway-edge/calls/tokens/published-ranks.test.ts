import fc from "fast-check";
import { readRanks } from "./published-ranks.ts";

/** Few different bytes, so that tokens begin and end alike. */
const token = fc.array(fc.constantFrom(0, 1, 97, 98, 0xc3, 0xa9, 0xff), { minLength: 1, maxLength: 5 });
const vocabulary = fc.uniqueArray(token, { minLength: 1, maxLength: 300, selector: String });
const textOf = (bytes: readonly number[]): string => Buffer.from(bytes).toString("latin1");
const published = (tokens: readonly (readonly number[])[]): Uint8Array =>
  Buffer.from(tokens.map((bytes, rank) => `${Buffer.from(bytes).toString("base64")} ${rank}\n`).join(""));

test("each token has its line as its rank, and nothing else has one", async () => {
  await fc.assert(
    fc.asyncProperty(vocabulary, fc.array(token), async (tokens, others) => {
      const table = await readRanks(published(tokens));
      const ranks = new Map(tokens.map((bytes, rank) => [textOf(bytes), rank]));
      expect(table.size).toBe(tokens.length);
      expect(table.longest).toBe(Math.max(...tokens.map(({ length }) => length)));
      for (const text of [...ranks.keys(), ...others.map(textOf)]) {
        expect(table.rankOf(text, 0, text.length)).toBe(ranks.get(text) ?? -1);
        // As a part of a longer text.
        expect(table.rankOf(`a${text}b`, 1, 1 + text.length)).toBe(ranks.get(text) ?? -1);
      }
    }),
  );
});

test("other work goes on while a large vocabulary is read", async () => {
  const tokens = Array.from({ length: 50_000 }, (_, rank) => [...Buffer.from(String(rank))]);
  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const table = await readRanks(published(tokens));
  clearImmediate(next);
  expect(table.size).toBe(50_000);
  expect(turns).toBeGreaterThan(10);
});

test.each(["YQ== 1\n", "YQ==\n", "YQ== x\n", "YQ== 0\nYg==\n", "YQ== 0\n\n"])(
  "a file that is no vocabulary is refused: %j",
  async (text) => {
    await expect(readRanks(Buffer.from(text))).rejects.toThrow("of the vocabulary is not a token and its rank");
  },
);

test("a vocabulary with a token that stands twice is refused", async () => {
  await expect(readRanks(Buffer.from("YQ== 0\nYQ== 1\n"))).rejects.toThrow("the token of line 2 of the vocabulary stands twice");
});
