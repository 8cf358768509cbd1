import type { Floats } from "../tensor.ts";

/** The float tensors of one model, in the order of their segments. */
export type Model = readonly Floats[];

/** A model made element by element from two or three of the same layout; rounded to the element type of the first. */
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

/** left - right. */
export function difference(left: Model, right: Model): Floats[] {
  return left.map((values, segment) => {
    const others = right[segment] as Floats;
    const out = values instanceof Float32Array ? new Float32Array(values.length) : new Float64Array(values.length);
    for (let index = 0; index < out.length; index++) out[index] = (values[index] as number) - (others[index] as number);
    return out;
  });
}

export function dotModels(left: Model, right: Model): number {
  let sum = 0;
  left.forEach((values, segment) => {
    const others = right[segment] as Floats;
    for (let index = 0; index < values.length; index++) sum += (values[index] as number) * (others[index] as number);
  });
  return sum;
}
