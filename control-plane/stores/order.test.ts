import fc from "fast-check";
import { compareValues } from "./order.ts";

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 3 }),
  fc.constantFrom("a", "a\ud7ff", "a\ue000", "a\uffff", "a\u{10000}", "a\u{10FFFF}"),
);

test("texts are in the order of their bytes, which is that of both stores, and numbers before them", () => {
  fc.assert(
    fc.property(texts, texts, (left, right) => {
      expect(compareValues(left, right)).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)));
      expect(compareValues(1, right)).toBe(-1);
      expect(compareValues(left, 1)).toBe(1);
    }),
    { numRuns: 2_000 },
  );
});
