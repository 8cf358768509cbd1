import {
  type Code,
  defineFunction,
  type FunctionSource,
  f32,
  f32x4,
  f64,
  f64x2,
  i8x16,
  i16x8,
  i32,
  i32x4,
  type Local,
  loopWhile,
  v128,
} from "./wat.ts";

/** Kernels over whole models in memory: wide loops at memory speed. */
const VECTOR_BYTES = 16;
const promoted = (at: Code, pair: number): Code => f64x2.promote(v128.loadLower(at, 8 * pair));

/** Two sums in one pass, each in four parts as in `dot`: of the squares of x (or of x - origin), and of x·y. */
function squareAndDotKernel(name: string, { origin: hasOrigin }: { origin: boolean }): FunctionSource {
  return defineFunction(
    name,
    {
      parameters: { x: "i32", origin: "i32", y: "i32", count: "i32", out: "i32" },
      locals: { end: "i32", value: "v128", gap: "v128", a: "v128", b: "v128", c: "v128", d: "v128" },
    },
    ({ x, origin, y, count, out, end, value, gap, a, b, c, d }) => {
      const half = (pair: 0 | 1, square: Local, dot: Local): Code[] => [
        value.set(promoted(x.get, pair)),
        gap.set(hasOrigin ? f64x2.sub(value.get, promoted(origin.get, pair)) : value.get),
        square.set(f64x2.add(square.get, f64x2.mul(gap.get, gap.get))),
        dot.set(f64x2.add(dot.get, f64x2.mul(value.get, promoted(y.get, pair)))),
      ];
      const total = (low: Local, high: Local): Code =>
        f64.add(f64.add(f64x2.lane(low.get, 0), f64x2.lane(high.get, 0)), f64.add(f64x2.lane(low.get, 1), f64x2.lane(high.get, 1)));
      const step = (place: Local): Code => place.set(i32.add(place.get, i32.constant(VECTOR_BYTES)));
      return [
        ...[a, b, c, d].map((sum) => sum.set(v128.zero)),
        end.set(i32.add(x.get, i32.shl(count.get, i32.constant(2)))),
        loopWhile(i32.less(x.get, end.get), ...half(0, a, c), ...half(1, b, d), step(x), step(y), ...(hasOrigin ? [step(origin)] : [])),
        f64.store(out.get, total(a, b)),
        f64.store(out.get, total(c, d), 8),
      ];
    },
  );
}

/** Zero times a finite number is zero, so the sum is NaN if one number is not finite. Sixteen floats at a time. */
const zeroTimes = defineFunction(
  "zeroTimes",
  { parameters: { x: "i32", end: "i32" }, locals: { a: "v128", b: "v128", c: "v128", d: "v128" }, result: "f32" },
  ({ x, end, a, b, c, d }) => {
    const sums = [a, b, c, d];
    return [
      ...sums.map((sum) => sum.set(v128.zero)),
      loopWhile(
        i32.less(x.get, end.get),
        ...sums.map((sum, index) => sum.set(f32x4.add(sum.get, f32x4.mul(v128.load(x.get, VECTOR_BYTES * index), v128.zero)))),
        x.set(i32.add(x.get, i32.constant(4 * VECTOR_BYTES))),
      ),
      a.set(f32x4.add(f32x4.add(a.get, b.get), f32x4.add(c.get, d.get))),
      f32.add(f32.add(f32x4.lane(a.get, 0), f32x4.lane(a.get, 1)), f32.add(f32x4.lane(a.get, 2), f32x4.lane(a.get, 3))),
    ];
  },
);

/**
 * Base64 by the tables of Muła and Lemire ("Faster Base64 Encoding and Decoding Using AVX2 Instructions", 2018): sixteen characters to
 * twelve bytes. A character is in the alphabet if the table entries of its lower and upper half have no bit in common. The value to add
 * depends on the upper half alone, except for the slash. Writes four bytes more than it decodes.
 */
const TABLES = {
  lower: [0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a],
  upper: [0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10],
  shift: [0, 16, 19, 4, 191, 191, 185, 185, 0, 0, 0, 0, 0, 0, 0, 0],
} as const;
const SLASH = 0x2f;
const BIG_ENDIAN_TRIPLES = [2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 0, 0, 0, 0];

const decodeBase64 = defineFunction(
  "decodeBase64",
  {
    parameters: { target: "i32", text: "i32", end: "i32" },
    locals: { x: "v128", upper: "v128", wrong: "v128", lowers: "v128", uppers: "v128", shifts: "v128" },
    result: "i32",
  },
  ({ target, text, end, x, upper, wrong, lowers, uppers, shifts }) => [
    wrong.set(v128.zero),
    lowers.set(v128.constant(TABLES.lower)),
    uppers.set(v128.constant(TABLES.upper)),
    shifts.set(v128.constant(TABLES.shift)),
    loopWhile(
      i32.less(text.get, end.get),
      x.set(v128.load(text.get)),
      upper.set(i8x16.shiftRight(x.get, 4)),
      wrong.set(
        v128.or(
          wrong.get,
          v128.and(
            i8x16.swizzle(lowers.get, v128.and(x.get, v128.constant(new Array(16).fill(0x0f)))),
            i8x16.swizzle(uppers.get, upper.get),
          ),
        ),
      ),
      x.set(
        i8x16.add(x.get, i8x16.swizzle(shifts.get, i8x16.add(upper.get, i8x16.equal(x.get, v128.constant(new Array(16).fill(SLASH)))))),
      ),
      // Two sextets to twelve bits, two of those to twenty-four.
      x.set(v128.or(v128.and(i16x8.shiftLeft(x.get, 6), v128.constant(pairs(0xc0, 0x0f))), i16x8.shiftRight(x.get, 8))),
      x.set(i32x4.dot(x.get, v128.constant([...Array(4)].flatMap(() => [0x00, 0x10, 0x01, 0x00])))),
      v128.store(target.get, i8x16.shuffle(x.get, BIG_ENDIAN_TRIPLES)),
      text.set(i32.add(text.get, i32.constant(16))),
      target.set(i32.add(target.get, i32.constant(12))),
    ),
    v128.anyTrue(wrong.get),
  ],
);

function pairs(low: number, high: number): number[] {
  return [...Array(8)].flatMap(() => [low, high]);
}

/** The source of all wide kernels. */
export const WIDE_SOURCE: readonly FunctionSource[] = [
  squareAndDotKernel("squareAndDot", { origin: false }),
  squareAndDotKernel("distanceAndDot", { origin: true }),
  zeroTimes,
  decodeBase64,
];
