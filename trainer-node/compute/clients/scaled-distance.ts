import type { Floats } from "../tensor.ts";

/** Distances in a unit: the real ones times `scale`, which is 1 where all their squares are finite. */
export interface Lengths {
  readonly values: Float64Array;
  readonly scale: number;
}

/** A power of two, so that scaling is exact: no square of a scaled difference of numbers overflows, nor the sum of many. */
const SCALE = 2 ** -600;

/** The squared distance of two rows that are scaled. */
export function scaledSquare(row: Floats, model: Floats): number {
  let total = 0;
  for (let index = 0; index < row.length; index++) total += ((row[index] as number) * SCALE - (model[index] as number) * SCALE) ** 2;
  return total;
}

/** The distances of these squares; `scaled` gives the scaled ones, of which those are used whose squares are not finite. */
export function lengthsOf(squared: Float64Array, scaled: () => Float64Array): Lengths {
  if (squared.every(Number.isFinite)) return { values: squared.map(Math.sqrt), scale: 1 };
  const others = scaled();
  const values = squared.map((square, row) => (Number.isFinite(square) ? Math.sqrt(square) * SCALE : Math.sqrt(others[row] as number)));
  return { values, scale: SCALE };
}
