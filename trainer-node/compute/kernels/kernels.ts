import type { KernelMemory } from "./kernel-memory.ts";

/**
 * Arithmetic on arrays that the kernels themselves hand out. There are two of them, WASM SIMD and plain TypeScript, and they give the
 * same bytes: every sum has one order, no step is fused, and rounding is to float32 after each operation where the arrays are float32.
 * Arrays are padded with zeros to a multiple of eight elements; a kernel may work on the padding, and zeros stay zeros.
 */
export interface Kernels {
  readonly name: "wasm-simd" | "js";
  readonly memory: KernelMemory;
  /** Zeroed arrays in the kernels' own memory. Throws RangeError beyond the size the kernels were made with. */
  floats(count: number): Float32Array<ArrayBuffer>;
  doubles(count: number): Float64Array<ArrayBuffer>;
  /** Whole numbers for `sortRows`. */
  words(count: number): Int32Array<ArrayBuffer>;

  /** sum += weight * x, in float64. */
  addScaled(sum: Float64Array, x: Float32Array | Float64Array, weight: number): void;
  /** Σ x·y in float64, by four partial sums of every fourth element: ((0 + 2) + (1 + 3)). */
  dot(x: Float32Array | Float64Array, y: Float32Array | Float64Array): number;
  /** Σ (x - y)² in float64, summed as `dot` is. */
  squaredDistance(x: Float32Array | Float64Array, y: Float32Array | Float64Array): number;
  /** out = sum / divisor, rounded to out's type. */
  divide(out: Float32Array | Float64Array, sum: Float64Array, divisor: number): void;
  /**
   * out = Σ weight · row / divisor, summed row after row in float64 and rounded once; rows, at least one, are of float32, at these
   * addresses of the kernels' memory.
   */
  combineRows(target: CombineTarget, rows: readonly number[], weights: readonly number[], divisor: number): void;
  /** Σ x² (Σ (x - origin)² where there is one) and Σ x·y into the first two of `out`, each summed as `dot` is; x is an address. */
  squareAndDot(x: number, y: Float32Array, out: Float64Array, origin?: Float32Array): void;
  /** Whether all are numbers; the array lies in the kernels' memory. */
  allFinite(x: Float32Array): boolean;
  /**
   * Base64 without padding, a multiple of sixteen characters, from one address to another. False where a character is not of the standard
   * alphabet; the bytes are of no use then. Up to four bytes behind the result are overwritten.
   */
  decodeBase64(target: number, text: number, characters: number): boolean;
  /** Sorts every column of rows that lie one after the other, by the comparators (pairs of row numbers, lower first) of a sorting network. */
  sortRows(rows: Float32Array | Float64Array, comparators: Int32Array, rowLength: number): void;

  /** c += a · b, row-major; a is read transposed where `transposed` says so. Sums run over k upwards. */
  gemm(c: Float32Array, a: Float32Array, b: Float32Array, size: GemmSize): void;
  /** y += weight * x. */
  axpy(y: Float32Array, x: Float32Array, weight: number): void;
  /** x *= factor. */
  scale(x: Float32Array, factor: number): void;
  /** x = max(x, 0). */
  relu(x: Float32Array): void;
  /** gradient = 0 where the output was not above 0. */
  reluBackward(gradient: Float32Array, output: Float32Array): void;
  /** velocity = momentum * velocity + gradient; weights -= rate * velocity. */
  momentumStep(weights: Float32Array, gradient: Float32Array, velocity: Float32Array, settings: { rate: number; momentum: number }): void;
  /** Adam with its two moments; `rate` has the bias correction in it already. */
  adamStep(weights: Float32Array, gradient: Float32Array, moments: AdamMoments, settings: AdamSettings): void;
  /** gradient += mu * (weights - anchor): FedProx's proximal term. */
  proximal(gradient: Float32Array, weights: Float32Array, anchor: Float32Array, mu: number): void;
}

export interface CombineTarget {
  readonly out: Float32Array;
  /** Room for as many sums; what is left in it is of no use. */
  readonly sum: Float64Array;
}

export interface GemmSize {
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  /** a is stored [inner, rows]. */
  readonly transposed?: boolean;
}

export interface AdamMoments {
  readonly first: Float32Array;
  readonly second: Float32Array;
}

export interface AdamSettings {
  readonly rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
}

/** Elements every array is padded to. */
const PADDING = 8;

export function padded(count: number): number {
  return Math.ceil(count / PADDING) * PADDING;
}
