import type { Kernels } from "../../kernels/kernels.ts";
import type { SeededRandom } from "../../random.ts";

/** A batch as input of the first layer: features of every row, or its tokens. */
export interface Batch {
  readonly rows: number;
  readonly features: Float32Array;
  readonly tokens: readonly Int32Array[];
}

/** The name, shape and initialization of a layer's tensor. */
export interface TensorSpec {
  readonly name: string;
  readonly shape: readonly number[];
  initial(random: SeededRandom): number;
}

/** A layer before it has memory. Sizes are per row. */
export interface LayerSpec {
  readonly outputs: number;
  readonly tensors: readonly TensorSpec[];
  /** Number of scratch floats that a batch needs. */
  scratch(batchRows: number): number;
  build(memory: LayerMemory): Layer;
}

/** The memory of one layer. */
export interface LayerMemory {
  readonly kernels: Kernels;
  /** One array per tensor of the spec. Layers add to the gradients. */
  readonly weights: readonly Float32Array[];
  readonly gradients: readonly Float32Array[];
  readonly batchRows: number;
}

/** A layer with memory. */
export interface Layer {
  forward(input: Float32Array, batch: Batch): Float32Array;
  /** Adds to the weights' gradients. Returns the gradient of the input if a layer below has weights. */
  backward(gradient: Float32Array, batch: Batch, wanted: boolean): Float32Array | undefined;
}

/** Initializes with one value. */
export const constant = (value: number) => () => value;
/** Initializes from a normal distribution; the deviation is that of Glorot or Kaiming, depending on the gain. */
export const normal = (deviation: number) => (random: SeededRandom) => deviation * random.normal();
