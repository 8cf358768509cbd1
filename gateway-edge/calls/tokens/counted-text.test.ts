import fc from "fast-check";
import { CountedText, EXACT_CHARACTERS_MAX, HELD_CHARACTERS_MAX, type TextCounter } from "./counted-text.ts";
import { type EncodingName, vocabularyOf } from "./token-counter.ts";

async function counterOf(encoding: EncodingName): Promise<TextCounter> {
  const vocabulary = await vocabularyOf(encoding);
  return { isReady: () => true, countNow: vocabulary.countNow, countWithLoaded: vocabulary.countNow, count: vocabulary.countNow };
}

const BITS = "a,the ,Hello,\n,  ,é,日本,。,🙂,\ud83d,𝒜,e\u0301,'s,'LL,’,_id,123,4567,!!,...,\r\n,A,//,<|end|>,\t,{\"a\": 1},don't, I,ß";
const bit = fc.oneof(fc.constantFrom(...BITS.split(",")), fc.string({ unit: "grapheme", maxLength: 4 }));
const pieces = fc.array(
  fc.array(bit, { maxLength: 8 }).map((bits) => bits.join("")),
  { maxLength: 24 },
);

test.each(["o200k_base", "cl100k_base"] as const)("5,000 texts in random pieces count as the whole text does by %s", async (encoding) => {
  const counter = await counterOf(encoding);
  fc.assert(
    fc.property(pieces, fc.array(fc.boolean(), { maxLength: 24 }), (texts, looks) => {
      const counted = new CountedText(counter);
      let whole = "";
      for (const [index, text] of texts.entries()) {
        counted.add(text);
        whole += text;
        // A look counts what it can and drops it.
        if (looks[index]) expect(counted.soFar()).toBe(counter.countNow(whole));
      }
      expect(counted.total()).toBe(counter.countNow(whole));
    }),
    { numRuns: 5000 },
  );
});

test("of a long text only a bounded rest is held, and the count is that of the whole", async () => {
  const counter = await counterOf("o200k_base");
  const counted = new CountedText(counter);
  const sentence = "Nothing of it is needed twice, so nothing of it stays: 日本語の文章も同じです。 ";
  let mostHeld = 0;
  const times = 20_000;
  for (let index = 0; index < times; index++) {
    counted.add(sentence);
    mostHeld = Math.max(mostHeld, counted.heldCharacters);
  }
  expect(mostHeld).toBeLessThanOrEqual(HELD_CHARACTERS_MAX);
  expect(counted.total()).toBe(counter.countNow(sentence.repeat(times)));
});

test("a text longer than any answer is counted by its length from there on", async () => {
  const counter = await counterOf("o200k_base");
  const counted = new CountedText(counter);
  const line = "One word after another makes a line of text.\n";
  const lines = Math.ceil((3 * EXACT_CHARACTERS_MAX) / line.length);
  for (let index = 0; index < lines; index++) counted.add(line);
  const exact = lines * counter.countNow(line);
  expect(Math.abs(Number(counted.total()) / exact - 1)).toBeLessThan(0.001);
  expect(counted.total()).toBeLessThanOrEqual(exact);
});

test("a text without a place to cut is cut anyway, at a token or two for each cut", async () => {
  const counter = await counterOf("o200k_base");
  const counted = new CountedText(counter);
  for (let index = 0; index < 4; index++) counted.add("🙂a".repeat(HELD_CHARACTERS_MAX / 3 + 1));
  expect(counted.heldCharacters).toBeLessThanOrEqual(HELD_CHARACTERS_MAX);
  const letters = new CountedText(counter);
  for (let index = 0; index < 100; index++) letters.add("a".repeat(2048));
  expect(Number(letters.total()) - counter.countNow("a".repeat(204_800))).toBeLessThanOrEqual(6);
});
