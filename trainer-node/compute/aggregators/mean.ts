import { InputProblem } from "../problem.ts";
import { type FloatTensor, firstNonFinite, type IntegerTensor, isFloat, sameShape, type Tensor } from "../tensor.ts";

export interface WeightedTensors {
  readonly tensors: readonly Tensor[];
  readonly weight: number;
}

/** Elements summed at a time: small enough for the accumulator to stay in the first-level cache. */
const BLOCK_ELEMENTS = 4096;

/**
 * The weighted mean of float tensors, accumulated in float64, and the maximum of integer tensors (a counter averaged is no counter).
 * Sums run in the order given: a caller who wants the same bytes for any order of arrival sorts first. Clients of weight 0
 * have no part. Equal inputs give exactly themselves. Tensors must already agree (see `findMismatch`).
 */
export function meanOf(inputs: readonly WeightedTensors[]): Tensor[] {
  const counted = inputs.filter((input) => input.weight > 0);
  const [first] = counted;
  if (!first) throw new InputProblem("VALIDATION_ERROR", "the weights of the clients that count must have a sum above 0");
  const weights = scaledWeights(counted.map((input) => input.weight));
  const byName = counted.map((input) => new Map(input.tensors.map((tensor) => [tensor.name, tensor])));
  return first.tensors.map((tensor) => {
    const same = byName.map((tensors) => tensors.get(tensor.name) ?? tensor);
    return isFloat(tensor) ? meanTensor(tensor, same.filter(isFloat), weights) : maximumTensor(tensor, same as IntegerTensor[]);
  });
}

/** What of `tensors` does not agree with `reference`, or undefined. Order does not count, names do. */
export function findMismatch(
  reference: readonly Tensor[],
  tensors: readonly Tensor[],
): { kind: "SHAPE_MISMATCH" | "DTYPE_MISMATCH"; tensor: string; message: string } | undefined {
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  for (const expected of reference) {
    const tensor = byName.get(expected.name);
    byName.delete(expected.name);
    const name = expected.name;
    if (!tensor) return { kind: "SHAPE_MISMATCH", tensor: name, message: `tensor "${name}" is missing` };
    if (tensor.dtype !== expected.dtype) {
      return { kind: "DTYPE_MISMATCH", tensor: name, message: `tensor "${name}" is ${tensor.dtype}, not ${expected.dtype}` };
    }
    if (!sameShape(tensor.shape, expected.shape)) {
      const message = `tensor "${name}" is [${tensor.shape.join(", ")}], not [${expected.shape.join(", ")}]`;
      return { kind: "SHAPE_MISMATCH", tensor: name, message };
    }
  }
  const [extra] = byName.keys();
  return extra === undefined ? undefined : { kind: "SHAPE_MISMATCH", tensor: extra, message: `tensor "${extra}" is not in the others` };
}

/** The first tensor and element that is NaN or infinite, or undefined. */
export function findNonFinite(tensors: readonly Tensor[]): { tensor: string; element: number } | undefined {
  for (const tensor of tensors) {
    const element = isFloat(tensor) ? firstNonFinite(tensor.data) : -1;
    if (element >= 0) return { tensor: tensor.name, element };
  }
  return undefined;
}

/**
 * The weights divided by the power of two at or above their sum: exact (no digit changes), and no weighted sum of finite
 * numbers can then overflow.
 */
function scaledWeights(weights: readonly number[]): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (!Number.isFinite(sum)) throw new InputProblem("VALIDATION_ERROR", "the sum of the weights is too large");
  const exponent = Math.ceil(Math.log2(sum));
  // In two steps: 2 ** -exponent alone is infinite for the smallest sums.
  const half = Math.trunc(exponent / 2);
  return weights.map((weight) => weight * 2 ** -half * 2 ** -(exponent - half));
}

function meanTensor(like: FloatTensor, tensors: readonly FloatTensor[], weights: readonly number[]): FloatTensor {
  const length = like.data.length;
  const data = like.dtype === "f32" ? new Float32Array(length) : new Float64Array(length);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const block = new Float64Array(Math.min(BLOCK_ELEMENTS, length));
  for (let start = 0; start < length; start += BLOCK_ELEMENTS) {
    const size = Math.min(BLOCK_ELEMENTS, length - start);
    // -0 is the one start that leaves every first term as it is, a negative zero too.
    block.fill(-0);
    tensors.forEach((tensor, client) => {
      addScaled(block, tensor.data, start, size, weights[client] as number);
    });
    for (let index = 0; index < size; index++) data[start + index] = (block[index] as number) / total;
  }
  if (like.dtype === "f64") keepWithin(data, tensors);
  return { name: like.name, dtype: like.dtype, shape: like.shape, data };
}

function addScaled(block: Float64Array, data: FloatTensor["data"], start: number, size: number, weight: number): void {
  for (let index = 0; index < size; index++) block[index] = (block[index] as number) + weight * (data[start + index] as number);
}

/**
 * A mean lies between the least and the greatest; rounding in the last place of float64 must not take it out of there, or
 * equal clients would not give back what they all sent. Float32 has digits to spare in the accumulator and needs no such care.
 */
function keepWithin(data: FloatTensor["data"], tensors: readonly FloatTensor[]): void {
  for (let index = 0; index < data.length; index++) {
    let least = Number.POSITIVE_INFINITY;
    let greatest = Number.NEGATIVE_INFINITY;
    for (const tensor of tensors) {
      least = Math.min(least, tensor.data[index] as number);
      greatest = Math.max(greatest, tensor.data[index] as number);
    }
    data[index] = Math.min(Math.max(data[index] as number, least), greatest);
  }
}

function maximumTensor(like: IntegerTensor, tensors: readonly IntegerTensor[]): IntegerTensor {
  const data = like.data.slice();
  for (const tensor of tensors) {
    for (let index = 0; index < data.length; index++) {
      const value = tensor.data[index] as number | bigint;
      if (value > (data[index] as number | bigint)) data[index] = value;
    }
  }
  return { name: like.name, dtype: like.dtype, shape: like.shape, data };
}
