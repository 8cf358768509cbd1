import { unit } from "../../../common/vectors.ts";
import { decodeIndex, encodeIndex, fileIndex, similarities } from "./file-index.ts";

test("chunks and vectors come back as they were stored, and are compared by their angle", () => {
  const stored = fileIndex(
    ["a", "ü 😀"],
    [
      [3, 4],
      [0, 2],
    ],
  );
  const read = decodeIndex(encodeIndex(stored));
  expect(read).toEqual(stored);
  const [first, second] = similarities(read, unit([0, 5])) ?? [];
  expect(first).toBeCloseTo(0.8);
  expect(second).toBeCloseTo(1);
  expect(similarities(read, unit([1, 2, 3]))).toBeUndefined();
});
