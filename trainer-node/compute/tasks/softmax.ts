import type { Dataset } from "../datasets/dataset.ts";
import { InputProblem } from "../problem.ts";
import { createRandom, PURPOSE, shuffle } from "../random.ts";
import { type Floats, firstNonFinite } from "../tensor.ts";
import type { SoftmaxModel } from "./softmax-model.ts";

interface SoftmaxSettings {
  readonly epochs: number;
  readonly batchSize: number;
  readonly learningRate: number;
  readonly seed: number;
  /** FedProx: the weight of half the squared distance to the start, added to the loss. */
  readonly mu?: number;
  /** SCAFFOLD: added to every gradient; tensors `weight` and `bias`. */
  readonly correction?: ReadonlyMap<string, Floats> | undefined;
  readonly onEpoch?: (progress: { epoch: number; epochs: number }) => void;
}

interface Score {
  readonly accuracy: number;
  /** Mean cross-entropy in nats. */
  readonly loss: number;
}

/** Mini-batch gradient descent on the mean cross-entropy. Each epoch visits every row once, in an order given by the seed. */
export function trainSoftmax(anchor: SoftmaxModel, dataset: Dataset, settings: SoftmaxSettings): { model: SoftmaxModel; steps: number } {
  checkFit(anchor, dataset);
  const model = { ...anchor, weight: anchor.weight.slice(), bias: anchor.bias.slice() };
  const random = createRandom(settings.seed, PURPOSE.shuffle);
  const order = Int32Array.from({ length: dataset.rows }, (_, index) => index);
  const errors = new Float64Array(Math.min(settings.batchSize, dataset.rows) * model.classes);
  let steps = 0;
  for (let epoch = 0; epoch < settings.epochs; epoch++) {
    shuffle(order, random);
    for (let start = 0; start < order.length; start += settings.batchSize) {
      const batch = order.subarray(start, start + settings.batchSize);
      // The errors are computed first, because the steps of the proximal term and of the loss both start from the parameters before the
      // batch.
      judge(model, dataset, batch, errors);
      if (settings.mu) pullBack(model, anchor, settings.learningRate * settings.mu);
      descend(model, dataset, batch, { errors, learningRate: settings.learningRate });
      if (settings.correction) correct(model, settings.correction, settings.learningRate);
      steps++;
    }
    settings.onEpoch?.({ epoch: epoch + 1, epochs: settings.epochs });
  }
  if (firstNonFinite(model.weight) >= 0 || firstNonFinite(model.bias) >= 0) {
    throw new InputProblem("NON_FINITE", "the training diverged: the parameters are no longer finite; use a smaller lr", {
      lr: settings.learningRate,
    });
  }
  return { model, steps };
}

/** The class and the probabilities of every row. */
export function predictSoftmax(model: SoftmaxModel, dataset: Dataset): { label: number; scores: number[] }[] {
  checkFit(model, dataset);
  const probabilities = new Float64Array(model.classes);
  return Array.from({ length: dataset.rows }, (_, row) => {
    predict(model, dataset, row, probabilities);
    return { label: argmax(probabilities), scores: [...probabilities] };
  });
}

/** The accuracy and loss of a model. */
export function scoreSoftmax(model: SoftmaxModel, dataset: Dataset): Score {
  checkFit(model, dataset);
  const probabilities = new Float64Array(model.classes);
  let correct = 0;
  let loss = 0;
  for (let row = 0; row < dataset.rows; row++) {
    const logProbability = predict(model, dataset, row, probabilities);
    loss -= logProbability;
    if (argmax(probabilities) === dataset.labels[row]) correct++;
  }
  return { accuracy: correct / dataset.rows, loss: loss / dataset.rows };
}

function checkFit(model: SoftmaxModel, dataset: Dataset): void {
  if (dataset.rows === 0) throw new InputProblem("EMPTY_DATASET", "the dataset has no rows");
  if (dataset.columns !== model.columns) {
    const message = `the parameters are for ${model.columns} columns and the dataset has ${dataset.columns}`;
    throw new InputProblem("SHAPE_MISMATCH", message, { expected_columns: model.columns, columns: dataset.columns });
  }
  const row = dataset.labels.findIndex((label) => label >= model.classes);
  if (row >= 0) {
    const message = `row ${row} has label ${dataset.labels[row]}; the parameters have ${model.classes} classes`;
    throw new InputProblem("VALIDATION_ERROR", message, { row, classes: model.classes });
  }
}

/** Computes all errors of a batch before any update, so that every row is judged by the same parameters. */
function judge(model: SoftmaxModel, dataset: Dataset, batch: Int32Array, errors: Float64Array): void {
  const { classes } = model;
  for (let index = 0; index < batch.length; index++) {
    const row = batch[index] as number;
    const error = errors.subarray(index * classes, (index + 1) * classes);
    predict(model, dataset, row, error);
    const label = dataset.labels[row] as number;
    error[label] = (error[label] as number) - 1;
  }
}

/** The gradient step for those errors. */
function descend(
  model: SoftmaxModel,
  dataset: Dataset,
  batch: Int32Array,
  { errors, learningRate }: { errors: Float64Array; learningRate: number },
): void {
  const { classes, columns } = model;
  const rate = learningRate / batch.length;
  for (let index = 0; index < batch.length; index++) {
    const error = errors.subarray(index * classes, (index + 1) * classes);
    const offset = (batch[index] as number) * columns;
    for (let column = 0; column < columns; column++) {
      const scale = rate * (dataset.features[offset + column] as number);
      if (scale !== 0) subtractScaled(model.weight, column * classes, error, scale);
    }
    subtractScaled(model.bias, 0, error, rate);
  }
}

/** The step of the proximal term: toward the parameters at the start of the training. */
function pullBack(model: SoftmaxModel, anchor: SoftmaxModel, rate: number): void {
  for (const part of ["weight", "bias"] as const) {
    for (let index = 0; index < model[part].length; index++) {
      const value = model[part][index] as number;
      model[part][index] = value - rate * (value - (anchor[part][index] as number));
    }
  }
}

function correct(model: SoftmaxModel, correction: ReadonlyMap<string, Floats>, rate: number): void {
  for (const part of ["weight", "bias"] as const) {
    const values = correction.get(part);
    if (!values) throw new Error(`a correction without "${part}"`);
    for (let index = 0; index < values.length; index++)
      model[part][index] = (model[part][index] as number) - rate * (values[index] as number);
  }
}

function subtractScaled(target: Float64Array, offset: number, values: Float64Array, scale: number): void {
  for (let index = 0; index < values.length; index++) {
    target[offset + index] = (target[offset + index] as number) - scale * (values[index] as number);
  }
}

/**
 * Fills `probabilities` for one row and returns the logarithm of the true label's. Logits are shifted by the largest, so that exp cannot
 * overflow.
 */
function predict(model: SoftmaxModel, dataset: Dataset, row: number, probabilities: Float64Array): number {
  const { classes, columns, weight } = model;
  probabilities.set(model.bias);
  const offset = row * columns;
  for (let column = 0; column < columns; column++) {
    const value = dataset.features[offset + column] as number;
    if (value !== 0) subtractScaled(probabilities, 0, weight.subarray(column * classes, (column + 1) * classes), -value);
  }
  let top = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < classes; index++) top = Math.max(top, probabilities[index] as number);
  const labelLogit = (probabilities[dataset.labels[row] as number] as number) - top;
  let sum = 0;
  for (let index = 0; index < classes; index++) {
    const value = Math.exp((probabilities[index] as number) - top);
    probabilities[index] = value;
    sum += value;
  }
  for (let index = 0; index < classes; index++) probabilities[index] = (probabilities[index] as number) / sum;
  return labelLogit - Math.log(sum);
}

function argmax(values: Float64Array): number {
  let best = 0;
  for (let index = 1; index < values.length; index++) if ((values[index] as number) > (values[best] as number)) best = index;
  return best;
}
