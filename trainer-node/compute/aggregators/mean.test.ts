import { alignTo, layoutOf } from "../clients/segments.ts";
import type { Tensor } from "../tensor.ts";
import { aggregateTensors, FIVE, f32, f64, SAMPLES } from "./aggregate-harness.ts";

const i32 = (values: number[], name = "w"): Tensor => ({ name, dtype: "i32", shape: [values.length], data: Int32Array.from(values) });
const i64 = (values: bigint[], name = "w"): Tensor => ({ name, dtype: "i64", shape: [values.length], data: BigInt64Array.from(values) });

function mean(tensors: readonly Tensor[], weights: readonly number[] = tensors.map(() => 1)): unknown[] {
  const { tensors: result } = aggregateTensors({ strategy: "mean", clients: tensors.map((tensor) => [tensor]), weights });
  return [...(result[0]?.data ?? [])];
}

describe("the mean", () => {
  test.each([
    ["f32", f32],
    ["f64", f64],
  ] as const)("check 1: weighted by samples, %s", (_name, make) => {
    expect(
      mean(
        FIVE.map((row) => make(row)),
        SAMPLES,
      ),
    ).toEqual([51.5, -48, 27.5]);
  });

  test("check 2: unweighted", () => {
    expect(mean(FIVE.map((row) => f64(row)))).toEqual([22, -17.2, 13.6]);
  });

  test("check 23: equal clients give back what they sent, to the bit, whatever their number and weights", () => {
    const values = [0.1, -0, 1 / 3, 5e-324, 1.7976931348623157e308, -2.5];
    for (const weights of [
      [1, 1, 1],
      [0.1, 0.7, 3],
      [1e300, 1e-300, 7],
      [5e-324, 5e-324, 5e-324],
    ]) {
      for (const make of [f32, f64]) {
        const finite = make === f32 ? values.filter((value) => Number.isFinite(Math.fround(value))) : values;
        const input = make(finite);
        expect(mean([input, input, input], weights)).toEqual([...input.data]);
      }
    }
  });

  test("check 24: float32 tensors are summed in float64: 1e8 + 1 - 1e8 is 1", () => {
    expect(mean([f32([1e8]), f32([1]), f32([-1e8])])).toEqual([Math.fround(1 / 3)]);
  });

  test("the mean of the greatest numbers does not overflow", () => {
    expect(mean([f64([1.7e308]), f64([1.5e308])], [1e308, 5e307])[0]).toBeCloseTo(1.6333333333333e308, -300);
    expect(Number.isFinite(mean([f64([1.7e308]), f64([1.5e308])], [1e308, 5e307])[0])).toBe(true);
  });

  test("blocks do not show: every element of a long tensor is averaged", () => {
    const length = 10_001;
    const left = f32(Array.from({ length }, (_, index) => index));
    const right = f32(Array.from({ length }, (_, index) => 3 * index));
    expect(mean([left, right])).toEqual(Array.from({ length }, (_, index) => 2 * index));
  });

  test("integers take the maximum, beyond 2^53 too", () => {
    expect(mean([i32([1, -5]), i32([3, -7])], [100, 1])).toEqual([3, -5]);
    expect(mean([i64([2n ** 60n]), i64([2n ** 60n + 1n])])).toEqual([2n ** 60n + 1n]);
  });

  test("a client of weight 0 has no part, and weights that are all 0 are refused", () => {
    expect(mean([f32([1]), f32([9])], [1, 0])).toEqual([1]);
    expect(mean([i32([1]), i32([9])], [1, 0])).toEqual([1]);
    expect(() => mean([f32([1])], [0])).toThrow(expect.objectContaining({ kind: "VALIDATION_ERROR" }));
    expect(() => mean([f32([1]), f32([1])], [1.7e308, 1.7e308])).toThrow("too large");
  });

  test("tensors are matched by name, not by place", () => {
    const { tensors } = aggregateTensors({
      strategy: "mean",
      clients: [
        [f32([1], "a"), f32([10], "b")],
        [f32([20], "b"), f32([3], "a")],
      ],
    });
    expect(tensors.map(({ name, data }) => [name, ...data])).toEqual([
      ["a", 2],
      ["b", 15],
    ]);
  });
});

describe("what may not be averaged", () => {
  test.each<[string, Tensor[], string, string]>([
    ["a missing tensor", [], "SHAPE_MISMATCH", "w"],
    ["another shape", [f32([1, 2])], "SHAPE_MISMATCH", "w"],
    ["another dtype", [f64([1])], "DTYPE_MISMATCH", "w"],
    ["a tensor too many", [f32([1]), f32([1], "v")], "SHAPE_MISMATCH", "v"],
  ])("%s is named", (_name, tensors, kind, tensor) => {
    const { segments } = layoutOf([f32([1])]);
    expect(alignTo(segments, tensors)).toMatchObject({ kind, tensor });
    expect(alignTo(segments, [f32([5])])).toHaveLength(1);
  });
});
