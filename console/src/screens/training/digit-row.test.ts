import { drawnAt, EMPTY_DIGIT, rowOf } from "./digit-row.ts";

test("a stroke has ink at its pixel and half as much beside it, and never lightens what is drawn", () => {
  const once = drawnAt(EMPTY_DIGIT, 0, 0);
  expect([once[0], once[1], once[8], once[9]]).toEqual([1, 0.5, 0.5, 0]);
  const twice = drawnAt(once, 1, 0);
  expect([twice[0], twice[1], twice[2]]).toEqual([1, 1, 0.5]);
});

test.each(["", "[1,2", '{"a":1}', "[1,2,3]", JSON.stringify(["x", ...EMPTY_DIGIT.slice(1)])])("%s is no picture", (typed) => {
  expect(rowOf(typed)).toEqual(EMPTY_DIGIT);
});
