import fc from "fast-check";
import { packRanks, type Ranks, rankOf } from "./packed-ranks.ts";

/** Few different bytes, so that tokens begin, end and hash alike. */
const token = fc.array(fc.constantFrom(0, 1, 97, 98, 0xc3, 0xa9, 0xff), { minLength: 1, maxLength: 5 });
const vocabulary = fc.uniqueArray(token, { minLength: 1, maxLength: 300, selector: String });

test("a text has the rank of the token with its bytes and of no other, wherever it stands", () => {
  fc.assert(
    fc.property(vocabulary, fc.array(token, { maxLength: 50 }), fc.array(fc.nat(300)), (tokens, others, holes) => {
      const ranks: (readonly number[])[] = [...tokens];
      for (const hole of holes) delete ranks[hole];
      const packed = packRanks(ranks);
      for (const bytes of [...tokens, ...others]) {
        const text = Buffer.from(bytes).toString("latin1");
        const expected = ranks.findIndex((each) => String(each) === String(bytes));
        expect(rankOf(packed, text, 0, text.length)).toBe(expected);
        expect(rankOf(packed, `b${text}a`, 1, 1 + text.length)).toBe(expected);
      }
    }),
  );
});

test("published texts and bytes are packed as UTF-8", () => {
  const ranks: Ranks = ["é", [0xff, 0xfe], "日本", "a"];
  const packed = packRanks(ranks);
  const keys = ["é", "日本", "a"].map((text) => Buffer.from(text).toString("latin1"));
  expect(keys.map((key) => rankOf(packed, key, 0, key.length))).toEqual([0, 2, 3]);
  expect(rankOf(packed, "\u00ff\u00fe", 0, 2)).toBe(1);
  expect(packed.longest).toBe(6);
});
