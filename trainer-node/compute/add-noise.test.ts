import { keyedRandom } from "../operations/keyed-random.ts";
import { addNoise } from "./add-noise.ts";
import type { Tensor } from "./tensor.ts";

const COUNT = 200_000;
const key = (byte: number) => new Uint8Array(32).fill(byte);
const zeros: Tensor = { name: "w", dtype: "f64", shape: [COUNT], data: new Float64Array(COUNT) };
const counts: Tensor = { name: "n", dtype: "i32", shape: [2], data: Int32Array.of(3, 4) };

function noiseOf(byte: number, deviation: number): Float64Array {
  return addNoise([zeros], deviation, keyedRandom(key(byte)))[0]?.data as Float64Array;
}

test("the noise has the moments of a Gaussian of that deviation, and neighboring values are independent", () => {
  const noise = noiseOf(1, 2.5);
  const moment = (power: number) => noise.reduce((sum, value) => sum + (value / 2.5) ** power, 0) / COUNT;
  // Within five standard errors of the estimates: sqrt(1, 2, 15, 96) / sqrt(COUNT).
  const tolerance = (variance: number) => 5 * Math.sqrt(variance / COUNT);
  expect(Math.abs(moment(1))).toBeLessThan(tolerance(1));
  expect(Math.abs(moment(2) - 1)).toBeLessThan(tolerance(2));
  expect(Math.abs(moment(3))).toBeLessThan(tolerance(15));
  expect(Math.abs(moment(4) - 3)).toBeLessThan(tolerance(96));
  const pairs = noise.reduce((sum, value, index) => sum + (value * (noise[index + 1] ?? 0)) / 6.25, 0) / COUNT;
  expect(Math.abs(pairs)).toBeLessThan(tolerance(1));
});

test("the same key gives the same noise, another key another", () => {
  expect(noiseOf(1, 1)).toEqual(noiseOf(1, 1));
  expect(noiseOf(1, 1).slice(0, 8)).not.toEqual(noiseOf(2, 1).slice(0, 8));
  expect(() => keyedRandom(new Uint8Array(16))).toThrow(RangeError);
});

test("whole numbers are left as they are", () => {
  expect(addNoise([counts], 10, keyedRandom(key(1)))).toEqual([counts]);
});
