import { createKernels } from "../../kernels/create-kernels.ts";
import { type Kernels, padded } from "../../kernels/kernels.ts";
import { InputProblem } from "../../problem.ts";
import { createRandom, PURPOSE, shuffle } from "../../random.ts";
import { type FloatTensor, type FloatType, firstNonFinite } from "../../tensor.ts";
import type { Samples } from "../samples.ts";
import type { Progress, TrainSettings } from "../task.ts";
import type { Batch, LayerSpec, TensorSpec } from "./layer.ts";
import type { Loss } from "./loss.ts";
import { createOptimizer } from "./optimizer.ts";

/** A sequence of layers with all weights in one array, so that an optimizer's step is one call. */
export interface Network {
  readonly dtype: FloatType;
  /** Trains and returns the number of steps. */
  train(samples: Samples, settings: TrainSettings, onEpoch: (progress: Progress) => void): number;
  /** Computes the outputs of every row by batches. The array is reused for the next batch. */
  run(samples: Samples, visit: (outputs: Float32Array, batch: BatchRows) => void): void;
  /** Returns a function for the outputs of single rows of tokens, which reuses its memory. */
  stepper(): (tokens: Int32Array) => Float32Array;
  tensors(): FloatTensor[];
}

/** The rows of one batch. */
export interface BatchRows {
  readonly first: number;
  readonly rows: number;
}

const NETWORK_LIMITS = { weightsMax: 2 ** 26, bytesMax: 3 * 2 ** 30 } as const;
const EVALUATION_ROWS = 256;

/** What a network is created from. */
export interface NetworkInput {
  readonly layers: readonly LayerSpec[];
  readonly loss: Loss;
  readonly start: { readonly seed: number } | { readonly tensors: readonly FloatTensor[] };
  /** Kernels to use instead of the best available ones, to compare them. */
  readonly kernelsFor?: (bytes: number) => Kernels;
}

/** Creates a network. */
export function createNetwork({ layers, loss, start, kernelsFor = createKernels }: NetworkInput): Network {
  const specs = layers.flatMap((layer) => layer.tensors);
  const offsets = offsetsOf(specs);
  const total = offsets.at(-1) ?? 0;
  if (total > NETWORK_LIMITS.weightsMax) {
    throw new InputProblem("VALIDATION_ERROR", `the model would have ${total} weights; the limit is ${NETWORK_LIMITS.weightsMax}`);
  }
  const held = new Float32Array(total);
  const dtype: FloatType = "tensors" in start ? (start.tensors[0]?.dtype ?? "f32") : "f32";
  fill(held, specs, offsets, start);

  return {
    dtype,
    train: (samples, settings, onEpoch) => {
      const batchRows = Math.min(settings.batchSize, samples.rows);
      const memory = build({ layers, specs, offsets, batchRows, arrays: 7, columns: samples.columns, kernelsFor });
      memory.weights.set(held);
      const correction = settings.correction && memory.kernels.floats(total);
      specs.forEach(({ name }, index) => void correction?.set(settings.correction?.get(name) ?? [], offsets[index]));
      const optimizer = createOptimizer(memory.kernels, { weights: memory.weights, gradients: memory.gradients, correction }, settings);
      let steps = 0;
      const random = createRandom(settings.seed, PURPOSE.shuffle);
      const order = Int32Array.from({ length: samples.rows }, (_, row) => row);
      for (let epoch = 0; epoch < settings.epochs; epoch++) {
        shuffle(order, random);
        for (let first = 0; first < order.length; first += batchRows) {
          const rows = order.subarray(first, first + batchRows);
          const batch = gather(memory.features, samples, rows);
          const outputs = memory.forward(batch);
          loss.gradient(outputs, wantedOf(samples, rows, layers));
          memory.gradients.fill(0);
          memory.backward(outputs, batch);
          optimizer.step();
          steps++;
        }
        onEpoch({ epoch: epoch + 1, epochs: settings.epochs });
      }
      if (firstNonFinite(memory.weights) >= 0) {
        throw new InputProblem("NON_FINITE", "the training diverged: the parameters are no longer finite; use a smaller lr", {
          lr: settings.learningRate,
        });
      }
      held.set(memory.weights);
      return steps;
    },
    run: (samples, visit) => {
      const batchRows = Math.min(EVALUATION_ROWS, Math.max(1, samples.rows));
      const memory = build({ layers, specs, offsets, batchRows, arrays: 1, columns: samples.columns, kernelsFor });
      memory.weights.set(held);
      for (let first = 0; first < samples.rows; first += batchRows) {
        const rows = Int32Array.from({ length: Math.min(batchRows, samples.rows - first) }, (_, row) => first + row);
        const outputs = memory.forward(gather(memory.features, samples, rows));
        visit(outputs, { first, rows: rows.length });
      }
    },
    stepper: () => {
      const memory = build({ layers, specs, offsets, batchRows: 1, arrays: 1, columns: 0, kernelsFor });
      memory.weights.set(held);
      return (tokens) => memory.forward({ rows: 1, features: memory.features, tokens: [tokens] });
    },
    tensors: () =>
      specs.map(({ name, shape }, index): FloatTensor => {
        const offset = offsets[index] as number;
        const values = held.subarray(offset, offset + sizeOf(shape));
        return { name, dtype, shape, data: dtype === "f64" ? Float64Array.from(values) : Float32Array.from(values) };
      }),
  };
}

/** The labels or targets of a batch for the loss, in the order of its rows. */
export function wantedOf(samples: Samples, rows: Int32Array, layers: readonly LayerSpec[]) {
  const { labels, targets } = samples;
  return {
    rows: rows.length,
    width: layers.at(-1)?.outputs ?? 1,
    labels: labels ? rows.map((row) => labels[row] as number) : new Int32Array(0),
    targets: targets ? Float32Array.from(rows, (row) => targets[row] as number) : new Float32Array(0),
  };
}

interface Memory {
  readonly kernels: Kernels;
  readonly weights: Float32Array;
  readonly gradients: Float32Array;
  readonly features: Float32Array;
  forward(batch: Batch): Float32Array;
  backward(gradient: Float32Array, batch: Batch): void;
}

interface Plan {
  readonly layers: readonly LayerSpec[];
  readonly specs: readonly TensorSpec[];
  readonly offsets: readonly number[];
  readonly batchRows: number;
  /** Number of arrays with the size of the weights. */
  readonly arrays: number;
  readonly columns: number;
  readonly kernelsFor: (bytes: number) => Kernels;
}

function build({ layers, specs, offsets, batchRows, arrays, columns, kernelsFor }: Plan): Memory {
  const total = offsets.at(-1) ?? 0;
  const scratch = layers.reduce((sum, layer) => sum + layer.scratch(batchRows), 0);
  const bytes = 4 * ((arrays + 1) * padded(total) + scratch + padded(batchRows * columns)) + 4096 * (layers.length + 4);
  if (bytes > NETWORK_LIMITS.bytesMax) {
    throw new InputProblem(
      "VALIDATION_ERROR",
      `the call needs ${bytes} bytes of memory; the limit is ${NETWORK_LIMITS.bytesMax}: use a smaller batch_size or model`,
    );
  }
  const kernels = kernelsFor(bytes);
  const weights = kernels.floats(total);
  const gradients = kernels.floats(total);
  const view = (array: Float32Array, index: number) =>
    array.subarray(offsets[index] as number, (offsets[index] as number) + sizeOf(specs[index]?.shape ?? []));
  let next = 0;
  const built = layers.map((layer) => {
    const mine = layer.tensors.map(() => next++);
    return layer.build({
      kernels,
      batchRows,
      weights: mine.map((index) => view(weights, index)),
      gradients: mine.map((index) => view(gradients, index)),
    });
  });
  const features = kernels.floats(batchRows * columns);
  const lowest = layers.findIndex((layer) => layer.tensors.length > 0);
  return {
    kernels,
    weights,
    gradients,
    features,
    forward: (batch) => built.reduce((values, layer) => layer.forward(values, batch), batch.features),
    backward: (gradient, batch) => {
      let values: Float32Array | undefined = gradient;
      for (let index = built.length - 1; index >= 0 && values; index--) values = built[index]?.backward(values, batch, index > lowest);
    },
  };
}

function gather(features: Float32Array, samples: Samples, rows: Int32Array): Batch {
  const { columns, tokens } = samples;
  const source = samples.features;
  rows.forEach((row, index) => {
    if (source) features.set(source.subarray(row * columns, (row + 1) * columns), index * columns);
  });
  return {
    rows: rows.length,
    features,
    tokens: tokens ? Array.from(rows, (row) => tokens.ids.subarray(tokens.starts[row], tokens.starts[row + 1])) : [],
  };
}

function fill(held: Float32Array, specs: readonly TensorSpec[], offsets: readonly number[], start: NetworkInput["start"]): void {
  if ("tensors" in start) {
    specs.forEach(({ name }, index) => {
      const tensor = start.tensors.find((candidate) => candidate.name === name);
      if (tensor) held.set(tensor.data, offsets[index]);
    });
    return;
  }
  const random = createRandom(start.seed, PURPOSE.initialize);
  specs.forEach((spec, index) => {
    const offset = offsets[index] as number;
    for (let at = 0; at < sizeOf(spec.shape); at++) held[offset + at] = spec.initial(random);
  });
}

/** The offset of each tensor and the end. Each offset is a multiple of the kernels' padding, so that every tensor has its own zeros. */
function offsetsOf(specs: readonly TensorSpec[]): number[] {
  const offsets = [0];
  for (const { shape } of specs) offsets.push((offsets.at(-1) ?? 0) + padded(sizeOf(shape)));
  return offsets;
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
