import { createAllocator, withSlack } from "./allocator.ts";
import { KERNELS_WASM_BASE64 } from "./gen/kernels-wasm.ts";
import { createKernelMemory, type KernelMemory } from "./kernel-memory.ts";
import { type CombineTarget, type Kernels, padded } from "./kernels.ts";
import { passName, ROWS_AT_A_TIME } from "./wasm-rows-source.ts";

type Exports = Readonly<Record<string, (...values: number[]) => number>>;

let compiled: WebAssembly.Module | "none" | undefined;

/** The module, compiled once per thread; "none" if the engine has no SIMD. */
function compiledModule(): WebAssembly.Module | "none" {
  if (compiled === undefined) {
    const bytes = Buffer.from(KERNELS_WASM_BASE64, "base64");
    compiled = WebAssembly.validate(bytes) ? new WebAssembly.Module(bytes) : "none";
  }
  return compiled;
}

/** Kernels over their own memory, which is freed as a whole when they are unreferenced, or over a given memory. */
export function createWasmKernels(bytes: number, given?: KernelMemory): Kernels | undefined {
  const module = compiledModule();
  if (module === "none") return undefined;
  const memory = given ?? createKernelMemory({ bytes: withSlack(bytes), bytesMax: withSlack(bytes) });
  const { exports } = new WebAssembly.Instance(module, { host: { memory: memory.memory } });
  const run = exports as unknown as Exports;
  const { floats, doubles, words } = createAllocator(memory, bytes);
  return {
    name: "wasm-simd",
    memory,
    floats,
    doubles,
    words,
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
    combineRows: (target, rows, weights, divisor) => combineRows(run, target, rows, weights, divisor),
    squareAndDot: (x, y, out, origin) => {
      const name = origin ? "distanceAndDot" : "squareAndDot";
      run[name]?.(x, origin?.byteOffset ?? 0, y.byteOffset, padded(y.length), out.byteOffset);
    },
    allFinite: (x) => {
      const whole = x.length - (x.length % 16);
      return run["zeroTimes"]?.(x.byteOffset, x.byteOffset + whole * 4) === 0 && x.subarray(whole).every(Number.isFinite);
    },
    decodeBase64: (target, text, characters) => run["decodeBase64"]?.(target, text, text + characters) === 0,
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

/** Combines sixteen rows at a time, then the rest. The first pass initializes the sums and the last one finishes them. */
function combineRows(
  run: Exports,
  { out, sum }: CombineTarget,
  rows: readonly number[],
  weights: readonly number[],
  divisor: number,
): void {
  const bytes = padded(out.length) * 4;
  for (let at = 0; at < rows.length; ) {
    const size = ROWS_AT_A_TIME.find((size) => size <= rows.length - at) ?? 1;
    const pass = run[passName({ rows: size, first: at === 0, last: at + size === rows.length })];
    pass?.(out.byteOffset, sum.byteOffset, bytes, divisor, ...rows.slice(at, at + size), ...weights.slice(at, at + size));
    at += size;
  }
}
