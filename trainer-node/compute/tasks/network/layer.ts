import type { Kernels } from "../../kernels/kernels.ts";
import type { SeededRandom } from "../../random.ts";

/** A batch as the first layer gets it: features of every row, or its tokens. */
export interface Batch {
  readonly rows: number;
  readonly features: Float32Array;
  readonly tokens: readonly Int32Array[];
}

export interface TensorSpec {
  readonly name: string;
  readonly shape: readonly number[];
  initial(random: SeededRandom): number;
}

/** One step of a network, before it has memory. Sizes are of one row. */
export interface LayerSpec {
  readonly outputs: number;
  readonly tensors: readonly TensorSpec[];
  /** Floats of its own it needs for a batch. */
  scratch(batchRows: number): number;
  build(memory: LayerMemory): Layer;
}

export interface LayerMemory {
  readonly kernels: Kernels;
  /** One for each tensor of the spec; gradients are added to. */
  readonly weights: readonly Float32Array[];
  readonly gradients: readonly Float32Array[];
  readonly batchRows: number;
}

export interface Layer {
  forward(input: Float32Array, batch: Batch): Float32Array;
  /** Adds to the weights' gradients; gives the gradient of the input where a layer below has weights. */
  backward(gradient: Float32Array, batch: Batch, wanted: boolean): Float32Array | undefined;
}

export const constant = (value: number) => () => value;
/** Glorot's or He's deviation, as the gain says. */
export const normal = (deviation: number) => (random: SeededRandom) => deviation * random.normal();
