import { type RowsData, rowsOf } from "../datasets/rows.ts";
import { InputProblem } from "../problem.ts";
import { type FloatTensor, firstNonFinite, isFloat, sameShape, type Tensor } from "../tensor.ts";
import type { LayerSpec } from "./network/layer.ts";
import { argmax, type Loss } from "./network/loss.ts";
import { createNetwork, type Network, wantedOf } from "./network/network.ts";
import type { Samples } from "./samples.ts";
import type { ByteWriter, Learner, Prediction, Score, Task, TaskOptions } from "./task.ts";

/** The sizes of one model; their names depend on its kind. */
export type Sizes = Readonly<Record<string, number>> & { readonly classes: number };

/** A kind of network: how rows become samples, and samples and sizes become layers. */
export interface NetworkKind {
  readonly description: Omit<Task, "open">;
  readonly loss: Loss;
  samples(data: RowsData, sizes: Sizes): Samples;
  /** The sizes of a new model for the data. */
  freshSizes(data: RowsData, options: TaskOptions): Sizes;
  /** The sizes of a model in a request. Mismatches are found when its tensors are compared with the layers'. */
  sentSizes(shapeOf: (tensor: string) => readonly number[], data: RowsData): Sizes;
  layers(sizes: Sizes): LayerSpec[];
  /** The task learns from the texts alone. */
  readonly needsNoLabels?: boolean;
  /** The score of the task, if it is not the share of correct answers. */
  score?(outputs: Float32Array, samples: Samples): Score;
  writer?(model: { network: Network; sizes: Sizes }): ByteWriter;
  predict?(model: { network: Network; layers: readonly LayerSpec[]; sizes: Sizes }, data: RowsData): Prediction[];
}

/** Defines a task on a neural network. */
export function networkTask(kind: NetworkKind): Task {
  return {
    ...kind.description,
    open: ({ tensors, data, options, seed }) => {
      const sizes = tensors
        ? kind.sentSizes((name) => tensors.find((tensor) => tensor.name === name)?.shape ?? [], data)
        : kind.freshSizes(data, options);
      const layers = kind.layers(sizes);
      const start = tensors ? { tensors: fittingTensors(tensors, layers, kind.description.name) } : { seed };
      return learner(kind, sizes, layers, createNetwork({ layers, loss: kind.loss, start }));
    },
  };
}

function learner(kind: NetworkKind, sizes: Sizes, layers: readonly LayerSpec[], network: Network): Learner {
  const samplesOf = (data: RowsData): Samples => {
    if (data.kind === "texts" && !data.labeled && !kind.needsNoLabels) {
      throw new InputProblem("VALIDATION_ERROR", `task ${kind.description.name} requires a label for every text`, { field: "dataset" });
    }
    const samples = kind.samples(data, sizes);
    if (samples.rows === 0) throw new InputProblem("EMPTY_DATASET", "the dataset has no rows that this task can learn from");
    return samples;
  };
  const width = layers.at(-1)?.outputs ?? 1;
  const { writer } = kind;
  return {
    train: (data, settings, onEpoch) => network.train(samplesOf(data), settings, onEpoch),
    score: (data) => {
      const samples = samplesOf(data);
      const all = new Float32Array(kind.score ? samples.rows * width : 0);
      let [right, loss] = [0, 0];
      network.run(samples, (outputs, { first, rows }) => {
        if (kind.score) all.set(outputs.subarray(0, rows * width), first * width);
        const wanted = wantedOf(
          samples,
          Int32Array.from({ length: rows }, (_, row) => first + row),
          layers,
        );
        for (let row = 0; row < rows; row++) if (kind.loss.isRight(outputs, row, wanted)) right++;
        loss += kind.loss.gradient(outputs, wanted);
      });
      return kind.score ? kind.score(all, samples) : { accuracy: right / samples.rows, loss: loss / samples.rows };
    },
    predict: (data) => {
      if (kind.predict) return kind.predict({ network, layers, sizes }, data);
      const predictions: Prediction[] = [];
      network.run(samplesOf(data), (outputs, { rows }) => {
        for (let row = 0; row < rows; row++) {
          const scores = kind.loss.scores(outputs.subarray(row * width, (row + 1) * width));
          predictions.push(scores.length === 1 ? { value: scores[0] as number } : { label: argmax(scores), scores });
        }
      });
      return predictions.slice(0, rowsOf(data));
    },
    tensors: () => network.tensors(),
    ...(writer ? { writer: () => writer({ network, sizes }) } : {}),
  };
}

/** The tensors of a network with these layers: all of them and no others. */
function fittingTensors(tensors: readonly Tensor[], layers: readonly LayerSpec[], task: string): FloatTensor[] {
  const specs = layers.flatMap((layer) => layer.tensors);
  const extra = tensors.find((tensor) => !specs.some((spec) => spec.name === tensor.name));
  if (extra) {
    throw new InputProblem(
      "SHAPE_MISMATCH",
      `task ${task} has no tensor "${extra.name}"; it has ${specs.map((spec) => spec.name).join(", ")}`,
      {
        tensor: extra.name,
      },
    );
  }
  return specs.map(({ name, shape }) => {
    const tensor = tensors.find((candidate) => candidate.name === name);
    if (!tensor || !sameShape(tensor.shape, shape)) {
      const found = tensor ? `it is [${tensor.shape.join(", ")}]` : "it is missing";
      throw new InputProblem("SHAPE_MISMATCH", `tensor "${name}" of task ${task} must be [${shape.join(", ")}] for this data; ${found}`, {
        tensor: name,
      });
    }
    if (!isFloat(tensor))
      throw new InputProblem("DTYPE_MISMATCH", `tensor "${name}" is ${tensor.dtype}; task ${task} takes floats`, { tensor: name });
    const element = firstNonFinite(tensor.data);
    if (element >= 0) throw new InputProblem("NON_FINITE", `tensor "${name}" has a NaN or infinity`, { tensor: name, element });
    return tensor;
  });
}

/** Labeled rows as samples. A label that the model does not have is refused with its row. */
export function labeledSamples(data: RowsData, sizes: Sizes): Samples {
  if (data.kind !== "labelled") throw new InputProblem("VALIDATION_ERROR", "this task takes rows of numbers with a class as label");
  const { rows, columns, features, labels } = data.dataset;
  refuseLabels(labels, sizes.classes);
  return { rows, columns, classes: sizes.classes, features, labels };
}

/** Refuses labels that the model has no class for. */
export function refuseLabels(labels: Int32Array, classes: number): void {
  const row = labels.findIndex((label) => label >= classes);
  if (row >= 0)
    throw new InputProblem("VALIDATION_ERROR", `row ${row} has label ${labels[row]}; the parameters have ${classes} classes`, {
      row,
      classes,
    });
}

/** One dimension of a shape; 0 if it is missing. */
export function sizeAt(shape: readonly number[], place: number): number {
  return shape[place] ?? 0;
}

/** The number of columns of rows. */
export function columnsOf(data: RowsData): number {
  if (data.kind === "texts") return 0;
  return data.kind === "labelled" ? data.dataset.columns : data.columns;
}

/** The number of classes of a new model. */
export function classesOf(data: RowsData, options: TaskOptions): number {
  const seen = data.kind === "labelled" ? data.dataset.classes : data.kind === "texts" ? data.classes : 1;
  return Math.max(seen, options.classes ?? 0);
}
