import { createKernelMemory } from "../kernels/kernel-memory.ts";
import { createResultArrays, resultsAbove } from "./result-arrays.ts";

test("an array is reused after it was released, and never while it is in use", () => {
  const arrays = createResultArrays(1024);
  const [first, second] = [arrays.take(8, 4), arrays.take(8, 4)];
  expect(first.buffer).not.toBe(second.buffer);
  arrays.release();
  const again = [arrays.take(8, 4), arrays.take(8, 4), arrays.take(8, 4)].map(({ buffer }) => buffer);
  expect(new Set(again).size).toBe(3);
  expect(again).toEqual(expect.arrayContaining([first.buffer, second.buffer]));
});

test("memory of another size is not reused, and no more is retained than the limit", () => {
  const arrays = createResultArrays(64);
  const [large, small] = [arrays.take(16, 8), arrays.take(8, 8)];
  expect(large).toBeInstanceOf(Float64Array);
  arrays.release();
  expect(arrays.take(16, 4).buffer).not.toBe(small.buffer);
  expect(arrays.take(16, 8).buffer).not.toBe(large.buffer);
});

test("results lie above the top of the kernels' memory as long as there is room, and it cannot move under them", () => {
  const memory = createKernelMemory({ bytes: 65_536, bytesMax: 131_072 });
  const records = memory.reserve(65_000);
  const results = resultsAbove(memory, createResultArrays(0));
  const [inside, outside] = [results.take(128, 4), results.take(128, 4)];
  expect([inside.buffer === memory.buffer, inside.byteOffset >= records + 65_000, outside.buffer === memory.buffer]).toEqual([
    true,
    true,
    false,
  ]);
  expect(() => memory.ensure(70_000)).toThrow("cannot grow");
  results.release();
  memory.ensure(70_000);
  expect(results.take(128, 4).buffer).toBe(memory.buffer);
});
