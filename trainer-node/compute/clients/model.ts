import type { Floats } from "../tensor.ts";
import type { ResultArrays } from "./result-arrays.ts";

/** The float tensors of one model, in the order of their segments. */
export type Model = readonly Floats[];

/** Computes a model element by element from two or three models of the same layout, rounded to the element type of the first. */
export function mapModels(
  models: readonly [Model, Model, Model?],
  map: (first: number, second: number, third: number) => number,
): Floats[] {
  const [firsts, seconds, thirds] = models;
  return firsts.map((first, segment) => {
    const second = seconds[segment] as Floats;
    const third = (thirds ?? seconds)[segment] as Floats;
    const out = first instanceof Float32Array ? new Float32Array(first.length) : new Float64Array(first.length);
    for (let index = 0; index < out.length; index++)
      out[index] = map(first[index] as number, second[index] as number, third[index] as number);
    return out;
  });
}

/** left - right, in new memory or in memory that `take` returns. */
export function difference(left: Model, right: Model, take: ResultArrays["take"] = newArray): Floats[] {
  return left.map((values, segment) => {
    const others = right[segment] as Floats;
    const out = take(values.length, values.BYTES_PER_ELEMENT);
    for (let index = 0; index < out.length; index++) out[index] = (values[index] as number) - (others[index] as number);
    return out;
  });
}

function newArray(length: number, elementBytes: number): Floats {
  return elementBytes === 4 ? new Float32Array(length) : new Float64Array(length);
}

/** The dot product of two models. */
export function dotModels(left: Model, right: Model): number {
  let sum = 0;
  left.forEach((values, segment) => {
    const others = right[segment] as Floats;
    for (let index = 0; index < values.length; index++) sum += (values[index] as number) * (others[index] as number);
  });
  return sum;
}

/** The distance of two models; infinite if its square is too large for a number. */
export function distanceOf(left: Model, right: Model): number {
  let squared = 0;
  left.forEach((values, segment) => {
    const others = right[segment] as Floats;
    for (let index = 0; index < values.length; index++) squared += ((values[index] as number) - (others[index] as number)) ** 2;
  });
  return Math.sqrt(squared);
}
