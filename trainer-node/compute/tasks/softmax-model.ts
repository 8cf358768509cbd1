import { InputProblem } from "../problem.ts";
import { createRandom, PURPOSE } from "../random.ts";
import { type FloatTensor, type FloatType, firstNonFinite, isFloat, type Tensor } from "../tensor.ts";

/**
 * A softmax regression. On the wire it is "named" (tensors `weight` [columns, classes] and `bias` [classes]) or, in a format with one array
 * only, "stacked" (one tensor [columns + 1, classes] whose last row is the bias).
 */
export interface SoftmaxModel {
  readonly columns: number;
  readonly classes: number;
  readonly dtype: FloatType;
  readonly layout: "named" | "stacked";
  /** Float64 while computing, rounded to `dtype` when written. */
  readonly weight: Float64Array;
  readonly bias: Float64Array;
}

/** Most weights of a softmax model. */
export const MODEL_ELEMENTS_MAX = 2 ** 26;

const INITIAL_DEVIATION = 0.01;

/** A new model with random weights. */
export function initialModel(size: { columns: number; classes: number; layout: SoftmaxModel["layout"]; seed: number }): SoftmaxModel {
  const { columns, classes, layout, seed } = size;
  if (columns * classes > MODEL_ELEMENTS_MAX) {
    const message = `a model of ${columns} columns and ${classes} classes has more than ${MODEL_ELEMENTS_MAX} weights`;
    throw new InputProblem("VALIDATION_ERROR", message);
  }
  const random = createRandom(seed, PURPOSE.initialize);
  const weight = new Float64Array(columns * classes).map(() => Math.fround(INITIAL_DEVIATION * random.normal()));
  return { columns, classes, dtype: "f32", layout, weight, bias: new Float64Array(classes) };
}

/** Reads a model from its tensors. The error names the first mismatch. */
export function readModel(tensors: readonly Tensor[]): SoftmaxModel {
  for (const tensor of tensors) checkTensor(tensor);
  const [only] = tensors;
  if (tensors.length === 1 && only && isFloat(only)) return readStacked(only);
  const weight = tensors.find((tensor) => tensor.name === "weight");
  const bias = tensors.find((tensor) => tensor.name === "bias");
  if (tensors.length !== 2 || !weight || !bias || !isFloat(weight) || !isFloat(bias)) {
    const names = tensors.map((tensor) => tensor.name);
    throw new InputProblem("SHAPE_MISMATCH", "softmax regression has two tensors, weight and bias, or one of both stacked", {
      tensors: names,
    });
  }
  return readNamed(weight, bias);
}

/** Writes a model as tensors. */
export function writeModel(model: SoftmaxModel): Tensor[] {
  const { columns, classes, dtype, weight, bias } = model;
  if (model.layout === "named") {
    return [floatTensor("weight", dtype, [columns, classes], weight), floatTensor("bias", dtype, [classes], bias)];
  }
  const stacked = new Float64Array((columns + 1) * classes);
  stacked.set(weight);
  stacked.set(bias, columns * classes);
  return [floatTensor("arr_0", dtype, [columns + 1, classes], stacked)];
}

function checkTensor(tensor: Tensor): void {
  if (!isFloat(tensor)) {
    const message = `tensor "${tensor.name}" is ${tensor.dtype}; softmax regression takes floats`;
    throw new InputProblem("DTYPE_MISMATCH", message, { tensor: tensor.name, dtype: tensor.dtype });
  }
  const index = firstNonFinite(tensor.data);
  if (index >= 0)
    throw new InputProblem("NON_FINITE", `tensor "${tensor.name}" has a NaN or infinity`, { tensor: tensor.name, element: index });
}

function readStacked(tensor: FloatTensor): SoftmaxModel {
  const [rows = 0, classes = 0] = tensor.shape;
  if (tensor.shape.length !== 2 || rows < 2 || classes < 2) {
    const message = `one tensor alone must be [columns + 1, classes], its last row the bias; "${tensor.name}" is [${tensor.shape.join(", ")}]`;
    throw new InputProblem("SHAPE_MISMATCH", message, { tensor: tensor.name, shape: tensor.shape });
  }
  const values = Float64Array.from(tensor.data);
  const columns = rows - 1;
  const weight = values.subarray(0, columns * classes);
  return { columns, classes, dtype: tensor.dtype, layout: "stacked", weight, bias: values.subarray(columns * classes) };
}

function readNamed(weight: FloatTensor, bias: FloatTensor): SoftmaxModel {
  const [columns = 0, classes = 0] = weight.shape;
  if (weight.shape.length !== 2 || columns < 1 || classes < 2) {
    const message = `tensor "weight" must be [columns, classes]; it is [${weight.shape.join(", ")}]`;
    throw new InputProblem("SHAPE_MISMATCH", message, { tensor: "weight", shape: weight.shape });
  }
  if (bias.shape.length !== 1 || bias.shape[0] !== classes) {
    const message = `tensor "bias" must be [${classes}] like the classes of weight; it is [${bias.shape.join(", ")}]`;
    throw new InputProblem("SHAPE_MISMATCH", message, { tensor: "bias", shape: bias.shape });
  }
  if (weight.dtype !== bias.dtype) {
    throw new InputProblem("DTYPE_MISMATCH", `tensor "bias" is ${bias.dtype} and "weight" is ${weight.dtype}`, { tensor: "bias" });
  }
  const layout = "named" as const;
  return { columns, classes, dtype: weight.dtype, layout, weight: Float64Array.from(weight.data), bias: Float64Array.from(bias.data) };
}

function floatTensor(name: string, dtype: FloatType, shape: readonly number[], values: Float64Array): FloatTensor {
  return { name, dtype, shape, data: dtype === "f64" ? Float64Array.from(values) : Float32Array.from(values) };
}
