import { assemble } from "./assembler.ts";
import { type Kernels, padded } from "./kernels.ts";
import { KERNEL_SOURCE } from "./wasm-source.ts";

const PAGE_BYTES = 65_536;
const ALIGNMENT = 16;

type Exports = Readonly<Record<string, (...values: number[]) => number>>;

let compiled: WebAssembly.Module | "none" | undefined;

/** Assembled and compiled once a thread; "none" where the engine has no SIMD. */
function compiledModule(): WebAssembly.Module | "none" {
  if (compiled === undefined) {
    const bytes = assemble(KERNEL_SOURCE);
    compiled = WebAssembly.validate(bytes) ? new WebAssembly.Module(bytes) : "none";
  }
  return compiled;
}

/** Kernels over a memory of their own, freed as a whole when nobody holds them. */
export function createWasmKernels(bytes: number): Kernels | undefined {
  const module = compiledModule();
  if (module === "none") return undefined;
  // A little more than asked: each array begins at a multiple of the alignment.
  const pages = Math.ceil((bytes + PAGE_BYTES) / PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const { exports } = new WebAssembly.Instance(module, { host: { memory } });
  const run = exports as unknown as Exports;
  const allocate = createAllocator(memory.buffer.byteLength);
  return {
    name: "wasm-simd",
    floats: (count) => new Float32Array(memory.buffer, allocate(padded(count) * 4), count),
    doubles: (count) => new Float64Array(memory.buffer, allocate(padded(count) * 8), count),
    words: (count) => new Int32Array(memory.buffer, allocate(padded(count) * 4), count),
    addScaled: (sum, x, weight) => {
      run[x instanceof Float32Array ? "addScaledFloats" : "addScaledDoubles"]?.(sum.byteOffset, x.byteOffset, padded(x.length), weight);
    },
    dot: (x, y) =>
      run[x instanceof Float32Array ? "dotFloats" : "dotDoubles"]?.(x.byteOffset, y.byteOffset, padded(x.length)) ?? Number.NaN,
    squaredDistance: (x, y) =>
      run[x instanceof Float32Array ? "distanceFloats" : "distanceDoubles"]?.(x.byteOffset, y.byteOffset, padded(x.length)) ?? Number.NaN,
    divide: (out, sum, divisor) => {
      if (out instanceof Float32Array) run["divideToFloats"]?.(out.byteOffset, sum.byteOffset, padded(out.length), divisor);
      else for (let index = 0; index < out.length; index++) out[index] = (sum[index] as number) / divisor;
    },
    combineRows: (out, rows, stride, weights, divisor) => {
      const end = weights.byteOffset + weights.byteLength;
      run["combineFloats"]?.(out.byteOffset, rows.byteOffset, stride * 4, padded(out.length) * 4, weights.byteOffset, end, divisor);
    },
    sortRows: (rows, comparators, rowLength) => {
      const name = rows instanceof Float32Array ? "sortFloats" : "sortDoubles";
      const end = comparators.byteOffset + comparators.byteLength;
      run[name]?.(rows.byteOffset, rowLength * rows.BYTES_PER_ELEMENT, comparators.byteOffset, end);
    },
    gemm: (c, a, b, { rows, columns, inner, transposed }) => {
      const [aRow, aColumn] = transposed ? [4, 4 * rows] : [4 * inner, 4];
      run["gemm"]?.(c.byteOffset, a.byteOffset, b.byteOffset, rows, columns, inner, aRow, aColumn);
    },
    axpy: (y, x, weight) => void run["axpy"]?.(y.byteOffset, x.byteOffset, padded(y.length), weight),
    scale: (x, factor) => void run["scale"]?.(x.byteOffset, padded(x.length), factor),
    relu: (x) => void run["relu"]?.(x.byteOffset, padded(x.length)),
    reluBackward: (gradient, output) => void run["reluBackward"]?.(gradient.byteOffset, output.byteOffset, padded(gradient.length)),
    momentumStep: (weights, gradient, velocity, { rate, momentum }) => {
      run["momentumStep"]?.(weights.byteOffset, gradient.byteOffset, velocity.byteOffset, padded(weights.length), rate, momentum);
    },
    adamStep: (weights, gradient, { first, second }, { rate, beta1, beta2, epsilon }) => {
      const arrays = [weights, gradient, first, second].map((array) => array.byteOffset);
      run["adamStep"]?.(...arrays, padded(weights.length), rate, beta1, 1 - beta1, beta2, 1 - beta2, epsilon);
    },
    proximal: (gradient, weights, anchor, mu) => {
      run["proximal"]?.(gradient.byteOffset, weights.byteOffset, anchor.byteOffset, padded(gradient.length), mu);
    },
  };
}

function createAllocator(bytesMax: number): (bytes: number) => number {
  let used = 0;
  return (bytes) => {
    const at = Math.ceil(used / ALIGNMENT) * ALIGNMENT;
    if (at + bytes > bytesMax) throw new RangeError(`the kernels' memory of ${bytesMax} bytes is full`);
    used = at + bytes;
    return at;
  };
}
