import fc from "fast-check";
import { isDone, NOTHING_DONE, withDone } from "./progress.ts";

test("lines that are done in any order come to the same place, with what is ahead of the first gap", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 40 })), (lines) => {
      const progress = lines.map((line) => ({ line, next: line * 100 })).reduce(withDone, NOTHING_DONE);
      for (let line = 1; line <= 41; line++) expect(isDone(progress, line)).toBe(lines.includes(line));
      const firstGap = Array.from({ length: 41 }, (_, index) => index + 1).find((line) => !lines.includes(line)) ?? 0;
      expect([progress.line, progress.offset]).toEqual([firstGap, (firstGap - 1) * 100]);
      expect(progress.ahead.every(({ line }) => line > firstGap)).toBe(true);
    }),
  );
});

test("a line that is done twice is done", () => {
  const once = withDone(NOTHING_DONE, { line: 1, next: 9 });
  expect(withDone(once, { line: 1, next: 9 })).toEqual(once);
});
