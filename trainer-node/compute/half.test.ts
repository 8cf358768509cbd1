import { narrowToBrain, narrowToHalf, widenBrain, widenHalf } from "./half.ts";

const ALL = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);

describe("half and brain floats", () => {
  test.each([
    ["f16", widenHalf, narrowToHalf],
    ["bf16", widenBrain, narrowToBrain],
  ] as const)("every one of the 65,536 %s goes to float32 and back unharmed", (_name, widen, narrow) => {
    expect(Buffer.compare(Buffer.from(narrow(widen(ALL)).buffer), Buffer.from(ALL.buffer))).toBe(0);
  });

  test("halves have the values the language gives them, and float32 is rounded as it rounds", () => {
    const native = Float32Array.from(new Float16Array(ALL.buffer));
    const ours = widenHalf(ALL);
    expect(ours.every((value, index) => Object.is(value, native[index]))).toBe(true);
    // Midpoints, their neighbors and the edges of the range.
    const probes = [...native.filter(Number.isFinite)].flatMap((value, index) => [
      value,
      value * 1.0001,
      (value + (native[index + 1] ?? 0)) / 2,
    ]);
    const values = Float32Array.from([...probes, 65_519.996, 65_520, 1e-8, 2.98e-8, 3e-8, Number.POSITIVE_INFINITY, -0]);
    const expected = new Uint16Array(Float16Array.from(values).buffer);
    const actual = narrowToHalf(values);
    const wrong = actual.findIndex((bits, index) => bits !== expected[index] && !Number.isNaN(values[index]));
    expect(wrong).toBe(-1);
  });

  test("bfloat16 rounds to nearest, ties to even, and overflows to infinity", () => {
    const bits = Uint32Array.of(0x3f80_8000, 0x3f81_8000, 0x3f80_8001, 0x7f7f_ffff, 0x7f80_0001);
    expect([...narrowToBrain(new Float32Array(bits.buffer))].map((half) => half.toString(16))).toEqual([
      "3f80",
      "3f82",
      "3f81",
      "7f80",
      "7f81",
    ]);
  });
});
