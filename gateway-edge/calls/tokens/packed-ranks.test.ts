import fc from "fast-check";
import { rankOf, readRanks } from "./packed-ranks.ts";

/** Few different bytes, so that tokens begin, end and hash alike. */
const token = fc.array(fc.constantFrom(0, 1, 97, 98, 0xc3, 0xa9, 0xff), { minLength: 1, maxLength: 5 });
const vocabulary = fc.uniqueArray(token, { minLength: 1, maxLength: 300, selector: String });
const published = (tokens: readonly (readonly number[])[]): Uint8Array =>
  Buffer.from(tokens.map((bytes, rank) => `${Buffer.from(bytes).toString("base64")} ${rank}\n`).join(""));

test("a text has the rank of the token with its bytes and of no other, wherever it stands", async () => {
  await fc.assert(
    fc.asyncProperty(vocabulary, fc.array(token, { maxLength: 50 }), async (tokens, others) => {
      const ranks = await readRanks(published(tokens));
      for (const bytes of [...tokens, ...others]) {
        const text = Buffer.from(bytes).toString("latin1");
        const expected = tokens.findIndex((each) => String(each) === String(bytes));
        expect(rankOf(ranks, text, 0, text.length)).toBe(expected);
        expect(rankOf(ranks, `b${text}a`, 1, 1 + text.length)).toBe(expected);
      }
      expect(ranks.longest).toBe(Math.max(...tokens.map(({ length }) => length)));
    }),
  );
});

test.each(["YQ== 1\n", "YQ==\n", "YQ== x\n", "YQ== 0\nYg==\n", "YQ== 0\n\n"])(
  "a file that is no vocabulary is refused: %j",
  async (text) => {
    await expect(readRanks(Buffer.from(text))).rejects.toThrow("of the vocabulary is not a token and its rank");
  },
);
