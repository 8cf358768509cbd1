import type { KernelMemory } from "./kernel-memory.ts";

/**
 * Arithmetic on arrays that the kernels allocate. There are two implementations, WASM SIMD and plain TypeScript, with the same bytes as
 * result: every sum has one order, no step is fused, and float32 operations round after each step. Arrays are padded with zeros to a
 * multiple of eight elements; a kernel may process the padding, and zeros stay zeros.
 */
export interface Kernels {
  readonly name: "wasm-simd" | "js";
  readonly memory: KernelMemory;
  /** Allocates zeroed arrays in the kernels' memory. Throws RangeError beyond the size that the kernels were created with. */
  floats(count: number): Float32Array<ArrayBuffer>;
  doubles(count: number): Float64Array<ArrayBuffer>;
  /** Whole numbers for `sortRows`. */
  words(count: number): Int32Array<ArrayBuffer>;

  /** sum += weight * x, in float64. */
  addScaled(sum: Float64Array, x: Float32Array | Float64Array, weight: number): void;
  /** Σ x·y in float64, as four partial sums of every fourth element: ((0 + 2) + (1 + 3)). */
  dot(x: Float32Array | Float64Array, y: Float32Array | Float64Array): number;
  /** Σ (x - y)² in float64, summed as `dot` is. */
  squaredDistance(x: Float32Array | Float64Array, y: Float32Array | Float64Array): number;
  /** out = sum / divisor, rounded to out's type. */
  divide(out: Float32Array | Float64Array, sum: Float64Array, divisor: number): void;
  /**
   * out = Σ weight · row / divisor, summed row after row in float64 and rounded once. `rows` are addresses of float32 rows in the kernels'
   * memory, at least one.
   */
  combineRows(target: CombineTarget, rows: readonly number[], weights: readonly number[], divisor: number): void;
  /**
   * Writes Σ x² (Σ (x - origin)² with an origin) and Σ x·y to the first two elements of `out`, each summed as in `dot`; x is an address.
   */
  squareAndDot(x: number, y: Float32Array, out: Float64Array, origin?: Float32Array): void;
  /** Whether all elements are finite; the array lies in the kernels' memory. */
  allFinite(x: Float32Array): boolean;
  /**
   * Decodes base64 without padding, a multiple of sixteen characters, from one address to another. Returns false for a character outside
   * the standard alphabet; the bytes are then undefined. Up to four bytes behind the result are overwritten.
   */
  decodeBase64(target: number, text: number, characters: number): boolean;
  /** Sorts every column of consecutive rows by the comparators (pairs of row numbers, lower first) of a sorting network. */
  sortRows(rows: Float32Array | Float64Array, comparators: Int32Array, rowLength: number): void;

  /** c += a · b, row-major; a is read transposed if `transposed` is set. Sums run over k upwards. */
  gemm(c: Float32Array, a: Float32Array, b: Float32Array, size: GemmSize): void;
  /** y += weight * x. */
  axpy(y: Float32Array, x: Float32Array, weight: number): void;
  /** x *= factor. */
  scale(x: Float32Array, factor: number): void;
  /** x = max(x, 0). */
  relu(x: Float32Array): void;
  /** gradient = 0 for every output that is not above 0. */
  reluBackward(gradient: Float32Array, output: Float32Array): void;
  /** velocity = momentum * velocity + gradient; weights -= rate * velocity. */
  momentumStep(weights: Float32Array, gradient: Float32Array, velocity: Float32Array, settings: { rate: number; momentum: number }): void;
  /** One step of Adam with its two moments; `rate` includes the bias correction. */
  adamStep(weights: Float32Array, gradient: Float32Array, moments: AdamMoments, settings: AdamSettings): void;
  /** gradient += mu * (weights - anchor): FedProx's proximal term. */
  proximal(gradient: Float32Array, weights: Float32Array, anchor: Float32Array, mu: number): void;
}

/** The output of combineRows. */
export interface CombineTarget {
  readonly out: Float32Array;
  /** Space for as many sums; its content is undefined afterwards. */
  readonly sum: Float64Array;
}

/** The sizes of a matrix product. */
export interface GemmSize {
  readonly rows: number;
  readonly columns: number;
  readonly inner: number;
  /** a is stored [inner, rows]. */
  readonly transposed?: boolean;
}

/** The moments of Adam. */
export interface AdamMoments {
  readonly first: Float32Array;
  readonly second: Float32Array;
}

/** The settings of one step of Adam. */
export interface AdamSettings {
  readonly rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
}

/** Arrays are padded to a multiple of this many elements. */
const PADDING = 8;

/** The padded length of an array. */
export function padded(count: number): number {
  return Math.ceil(count / PADDING) * PADDING;
}
