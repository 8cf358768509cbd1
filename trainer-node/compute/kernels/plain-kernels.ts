import { createAllocator, withSlack } from "./allocator.ts";
import { createKernelMemory, type KernelMemory } from "./kernel-memory.ts";
import type { Kernels } from "./kernels.ts";

/** The reference implementation, element by element, and the fallback if an engine has no SIMD. */
export function createPlainKernels(bytes: number, given?: KernelMemory): Kernels {
  const memory = given ?? createKernelMemory({ bytes: withSlack(bytes), bytesMax: withSlack(bytes) });
  const { floats, doubles, words } = createAllocator(memory, bytes);
  return {
    name: "js",
    memory,
    floats,
    doubles,
    words,
    addScaled: (sum, x, weight) => each(x, (value, index) => set(sum, index, at(sum, index) + weight * value)),
    dot: (x, y) => sumOf(x, (value, index) => value * at(y, index)),
    squaredDistance: (x, y) => sumOf(x, (value, index) => (value - at(y, index)) * (value - at(y, index))),
    divide: (out, sum, divisor) => each(out, (_value, index) => set(out, index, at(sum, index) / divisor)),
    combineRows: ({ out, sum }, rows, weights, divisor) => {
      // -0 is the only start that keeps the first term, including a negative zero.
      const sums = sum.subarray(0, out.length).fill(-0);
      for (const [row, place] of rows.entries()) {
        const values = new Float32Array(memory.buffer, place, out.length);
        each(sums, (value, column) => set(sums, column, value + at(weights, row) * at(values, column)));
      }
      each(sums, (value, column) => set(out, column, value / divisor));
    },
    squareAndDot: (x, y, out, origin) => {
      const values = new Float32Array(memory.buffer, x, y.length);
      const square = (value: number, index: number): number => (value - (origin ? at(origin, index) : 0)) ** 2;
      out.set([sumOf(values, square), sumOf(values, (value, index) => value * at(y, index))]);
    },
    allFinite: (x) => x.every(Number.isFinite),
    decodeBase64: (target, text, characters) => decodeBase64(Buffer.from(memory.buffer), { target, text, characters }),
    sortRows: (rows, comparators, rowLength) => {
      for (let pair = 0; pair < comparators.length; pair += 2) {
        const [low, high] = [at(comparators, pair) * rowLength, at(comparators, pair + 1) * rowLength];
        for (let column = 0; column < rowLength; column++) {
          const [first, second] = [at(rows, low + column), at(rows, high + column)];
          if (second < first) {
            set(rows, low + column, second);
            set(rows, high + column, first);
          }
        }
      }
    },
    gemm: (c, a, b, { rows, columns, inner, transposed }) => {
      for (let row = 0; row < rows; row++) {
        for (let k = 0; k < inner; k++) {
          const factor = at(a, transposed ? k * rows + row : row * inner + k);
          for (let column = 0; column < columns; column++) {
            const cell = row * columns + column;
            set(c, cell, at(c, cell) + Math.fround(factor * at(b, k * columns + column)));
          }
        }
      }
    },
    axpy: (y, x, weight) => {
      const factor = Math.fround(weight);
      each(x, (value, index) => set(y, index, at(y, index) + Math.fround(factor * value)));
    },
    scale: (x, factor) => each(x, (value, index) => set(x, index, value * Math.fround(factor))),
    relu: (x) => each(x, (value, index) => set(x, index, value < 0 ? 0 : value)),
    reluBackward: (gradient, output) => each(output, (value, index) => value > 0 || set(gradient, index, 0)),
    momentumStep: (weights, gradient, velocity, settings) => {
      const [rate, momentum] = [Math.fround(settings.rate), Math.fround(settings.momentum)];
      each(gradient, (value, index) => {
        set(velocity, index, Math.fround(momentum * at(velocity, index)) + value);
        set(weights, index, at(weights, index) - Math.fround(rate * at(velocity, index)));
      });
    },
    adamStep: (weights, gradient, { first, second }, settings) => {
      const [rate, beta1, beta2, epsilon] = [settings.rate, settings.beta1, settings.beta2, settings.epsilon].map(Math.fround) as [
        number,
        number,
        number,
        number,
      ];
      const [rest1, rest2] = [Math.fround(1 - settings.beta1), Math.fround(1 - settings.beta2)];
      each(gradient, (value, index) => {
        set(first, index, Math.fround(beta1 * at(first, index)) + Math.fround(rest1 * value));
        set(second, index, Math.fround(beta2 * at(second, index)) + Math.fround(rest2 * Math.fround(value * value)));
        const root = Math.fround(Math.fround(Math.sqrt(at(second, index))) + epsilon);
        set(weights, index, at(weights, index) - Math.fround(Math.fround(rate * at(first, index)) / root));
      });
    },
    proximal: (gradient, weights, anchor, mu) => {
      const factor = Math.fround(mu);
      each(gradient, (value, index) => {
        set(gradient, index, value + Math.fround(factor * Math.fround(at(weights, index) - at(anchor, index))));
      });
    },
  };
}

function decodeBase64(memory: Buffer, { target, text, characters }: { target: number; text: number; characters: number }): boolean {
  const given = memory.toString("latin1", text, text + characters);
  if (!/^[A-Za-z0-9+/]*$/.test(given)) return false;
  memory.write(given, target, "base64");
  return true;
}

function sumOf(values: Numbers, term: (value: number, index: number) => number): number {
  const parts = [0, 0, 0, 0];
  each(values, (value, index) => {
    parts[index % 4] = at(parts, index % 4) + term(value, index);
  });
  return at(parts, 0) + at(parts, 2) + (at(parts, 1) + at(parts, 3));
}

type Numbers = { [index: number]: number; readonly length: number };

function at(values: Numbers, index: number): number {
  return values[index] as number;
}

/** Stores a value, rounded to the array's type. */
function set(values: Numbers, index: number, value: number): void {
  values[index] = value;
}

function each(values: Numbers, visit: (value: number, index: number) => void): void {
  for (let index = 0; index < values.length; index++) visit(at(values, index), index);
}
