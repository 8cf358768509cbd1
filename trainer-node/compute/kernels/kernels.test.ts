import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { createKernels } from "./create-kernels.ts";
import type { Kernels } from "./kernels.ts";
import { createPlainKernels } from "./plain-kernels.ts";
import { networkOf } from "./sorting-network.ts";
import { createWasmKernels } from "./wasm-kernels.ts";
import { KERNEL_SOURCE } from "./wasm-source.ts";
import { moduleText } from "./wat.ts";

const BYTES = 4_000_000;
const finite = fc.float({ noNaN: true, noDefaultInfinity: true, min: Math.fround(-1e15), max: Math.fround(1e15) });
const vectors = (count: number) =>
  fc
    .integer({ min: 1, max: 70 })
    .chain((length) => fc.tuple(...Array.from({ length: count }, () => fc.array(finite, { minLength: length, maxLength: length }))));

/** The bytes both kernels leave for the same work; equal to the last bit, or the twin is no reference. */
function bothGive(work: (kernels: Kernels) => ArrayLike<number>[] | number): void {
  const wasm = createWasmKernels(BYTES);
  if (!wasm) throw new Error("this engine has no WASM SIMD");
  const [left, right] = [work(wasm), work(createPlainKernels(BYTES))].map((result) =>
    (typeof result === "number" ? [[result]] : result).map((values) => Buffer.from(Float64Array.from(values).buffer).toString("hex")),
  );
  expect(left).toEqual(right);
}

const filled = (kernels: Kernels, values: readonly number[]): Float32Array => {
  const array = kernels.floats(values.length);
  array.set(values);
  return array;
};

describe("the kernels", () => {
  test("are WASM SIMD here, compiled from the text that the source says", () => {
    expect(createKernels(1000).name).toBe("wasm-simd");
    expect(readFileSync(join(__dirname, "gen/kernels.wat"), "utf8")).toBe(moduleText(KERNEL_SOURCE));
  });

  test("elementwise kernels give the twin's bytes", () => {
    fc.assert(
      fc.property(vectors(4), finite, ([p = [], q = [], r = [], s = []], factor) => {
        for (const work of [
          (k: Kernels, [y, x]: Float32Array[]) => y && x && k.axpy(y, x, factor),
          (k: Kernels, [x]: Float32Array[]) => x && k.scale(x, factor),
          (k: Kernels, [x]: Float32Array[]) => x && k.relu(x),
          (k: Kernels, [x, y]: Float32Array[]) => x && y && k.reluBackward(x, y),
          (k: Kernels, [w, g, v]: Float32Array[]) => w && g && v && k.momentumStep(w, g, v, { rate: factor, momentum: 0.9 }),
          (k: Kernels, [g, w, a]: Float32Array[]) => w && g && a && k.proximal(g, w, a, factor),
          (k: Kernels, [weights, gradient, first, second]: Float32Array[]) => {
            if (!weights || !gradient || !first || !second) return;
            second.set(second.map(Math.abs));
            k.adamStep(weights, gradient, { first, second }, { rate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-3 });
          },
        ]) {
          bothGive((kernels) => {
            const arrays = [p, q, r, s].map((values) => filled(kernels, values));
            work(kernels, arrays);
            return arrays;
          });
        }
      }),
      { numRuns: 60 },
    );
  });

  test("sums in float64 give the twin's bytes, for float32 and float64 inputs", () => {
    fc.assert(
      fc.property(vectors(2), fc.double({ noNaN: true, noDefaultInfinity: true }), ([p = [], q = []], weight) => {
        for (const kind of ["floats", "doubles"] as const) {
          const make = (kernels: Kernels, values: readonly number[]) => {
            const array = kernels[kind](values.length);
            array.set(values);
            return array;
          };
          bothGive((kernels) => kernels.dot(make(kernels, p), make(kernels, q)));
          bothGive((kernels) => kernels.squaredDistance(make(kernels, p), make(kernels, q)));
          bothGive((kernels) => {
            const sum = kernels.doubles(p.length);
            kernels.addScaled(sum, make(kernels, p), 0.3);
            kernels.addScaled(sum, make(kernels, q), Math.fround(weight) || 1);
            const out = kernels[kind](p.length);
            kernels.divide(out, sum, 3);
            return [sum, out];
          });
        }
      }),
      { numRuns: 60 },
    );
  });

  test("rows combined where they lie give the twin's bytes, and those of one sum after the other", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }), fc.infiniteStream(finite), (count, length, stream) => {
        const rows = Array.from({ length: count }, () => [...stream.take(length)]);
        const weights = rows.map(([first = 1]) => first / 7);
        const combined = (kernels: Kernels): Float32Array => {
          const out = kernels.floats(length);
          const places = rows.map((row) => filled(kernels, row).byteOffset);
          kernels.combineRows({ out, sum: kernels.doubles(length) }, places, weights, 3);
          return out;
        };
        bothGive((kernels) => [combined(kernels)]);
        bothGive((kernels) => {
          if (kernels.name === "js") return [combined(kernels)];
          const [sum, out] = [kernels.doubles(length).fill(-0), kernels.floats(length)];
          for (const [row, weight] of weights.entries()) kernels.addScaled(sum, filled(kernels, rows[row] ?? []), weight);
          kernels.divide(out, sum, 3);
          return [out];
        });
      }),
      { numRuns: 60 },
    );
  });

  test("square and product in one pass are those of two passes, with and without an origin", () => {
    fc.assert(
      fc.property(vectors(3), ([p = [], q = [], r = []]) => {
        for (const withOrigin of [false, true]) {
          bothGive((kernels) => {
            const [x, y, origin, out] = [filled(kernels, p), filled(kernels, q), filled(kernels, r), kernels.doubles(2)];
            kernels.squareAndDot(x.byteOffset, y, out, withOrigin ? origin : undefined);
            expect(out[0]).toBe(withOrigin ? kernels.squaredDistance(x, origin) : kernels.dot(x, x));
            expect(out[1]).toBe(kernels.dot(x, y));
            return [out];
          });
        }
      }),
      { numRuns: 60 },
    );
  });

  test("one NaN or infinity is found wherever it is", () => {
    for (const kernels of [createKernels(BYTES), createPlainKernels(BYTES)]) {
      for (const length of [1, 15, 16, 17, 100]) {
        const x = filled(
          kernels,
          Array.from({ length }, (_, index) => (index % 3) * 3.4e38 - 3.4e38),
        );
        x.set(x.map((value) => (Number.isFinite(value) ? value : 1)));
        expect(kernels.allFinite(x)).toBe(true);
        for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
          for (let index = 0; index < length; index++) {
            const before = x[index] as number;
            x[index] = wrong;
            expect(kernels.allFinite(x)).toBe(false);
            x[index] = before;
          }
        }
      }
    }
  });

  test.each(["wasm-simd", "js"])("base64 gives back the bytes, and every other character is refused at every place (%s)", (name) => {
    const alphabet = new Set(Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"));
    const kernels = name === "js" ? createPlainKernels(BYTES) : createKernels(BYTES);
    const [text, target] = [kernels.words(16), kernels.words(16)];
    const characters = Buffer.from(text.buffer, text.byteOffset, 64);
    const decoded = Buffer.from(target.buffer, target.byteOffset, 48);
    const given = Buffer.from(Array.from({ length: 48 }, (_, index) => (index * 89 + 3) % 256)).toString("base64");
    const differing: string[] = [];
    for (let trial = 0; trial < 64 * 256; trial++) {
      characters.write(given, "latin1");
      characters[trial >> 8] = trial & 255;
      const right = kernels.decodeBase64(target.byteOffset, text.byteOffset, 64);
      const expected = alphabet.has(trial & 255);
      if (right !== expected || (right && decoded.toString("base64") !== characters.toString("latin1"))) differing.push(String(trial));
    }
    expect(differing).toEqual([]);
  });

  test("gemm is the product, plain and transposed, for every remainder of its tiles", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 11 }),
        fc.integer({ min: 1, max: 21 }),
        fc.integer({ min: 1, max: 9 }),
        fc.boolean(),
        (rows, columns, inner, transposed) => {
          const number = (index: number) => Math.sin(index * 12.9898) * 43.5;
          const a = Array.from({ length: rows * inner }, (_, index) => number(index));
          const b = Array.from({ length: inner * columns }, (_, index) => number(index + 1000));
          const product = (kernels: Kernels) => {
            const c = kernels.floats(rows * columns);
            kernels.gemm(c, filled(kernels, a), filled(kernels, b), { rows, columns, inner, transposed });
            return c;
          };
          bothGive((kernels) => [product(kernels)]);
          const c = product(createPlainKernels(BYTES));
          for (const cell of [0, c.length - 1]) {
            const [row, column] = [Math.floor(cell / columns), cell % columns];
            const expected = Array.from(
              { length: inner },
              (_, k) => Math.fround(a[transposed ? k * rows + row : row * inner + k] ?? 0) * Math.fround(b[k * columns + column] ?? 0),
            );
            expect(c[cell]).toBeCloseTo(
              expected.reduce((sum, value) => sum + value, 0),
              1,
            );
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  test("a sorting network sorts every column, keeps the signs of zeros and agrees with the twin", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 33 }), fc.infiniteStream(fc.oneof(finite, fc.constantFrom(0, -0, 1, 1))), (count, stream) => {
        const values = [...stream.take(count * 8)];
        for (const kind of ["floats", "doubles"] as const) {
          const sorted = (kernels: Kernels) => {
            const rows = kernels[kind](count * 8);
            rows.set(values);
            const comparators = kernels.words(networkOf(count).length);
            comparators.set(networkOf(count));
            kernels.sortRows(rows, comparators, 8);
            return rows;
          };
          bothGive((kernels) => [sorted(kernels)]);
          const rows = sorted(createKernels(BYTES));
          for (let column = 0; column < 8; column++) {
            const ofColumn = (from: ArrayLike<number>) => Array.from({ length: count }, (_, row) => (from[row * 8 + column] ?? 0) + 0);
            expect(ofColumn(rows)).toEqual(
              ofColumn(kind === "floats" ? Float32Array.from(values) : values).toSorted((left, right) => left - right),
            );
          }
        }
      }),
      { numRuns: 80 },
    );
  });

  test("memory is what was asked for and no more", () => {
    const kernels = createKernels(1000);
    expect(() => kernels.floats(100_000)).toThrow(RangeError);
    expect(() => createPlainKernels(1000).floats(100_000)).toThrow(RangeError);
  });
});
