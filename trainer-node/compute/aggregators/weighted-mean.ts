import type { Model } from "../clients/model.ts";
import type { Vectors } from "../clients/vectors.ts";
import { InputProblem } from "../problem.ts";
import type { Floats } from "../tensor.ts";

/** Σ weight · x / Σ weight, accumulated in float64. Clients with weight 0 are ignored. Equal inputs give exactly themselves. */
export function weightedMean(vectors: Vectors, weights: readonly number[]): Floats[] {
  const counted = [...weights.keys()].filter((client) => (weights[client] as number) > 0);
  if (counted.length === 0) throw new InputProblem("VALIDATION_ERROR", "the weights of the accepted clients must have a sum above 0");
  const scaled = scaledWeights(counted.map((client) => weights[client] as number));
  return vectors.select(counted).combine(scaled, { divisor: sum(scaled), within: true });
}

/** base + Σ coefficient · (x - base). */
export function stepFrom(base: Model, vectors: Vectors, coefficients: readonly number[]): Floats[] {
  return vectors.combine(coefficients, { divisor: 1, base: { model: base, coefficient: 1 - sum(coefficients) } });
}

/** The weights as shares of 1. */
export function shares(weights: readonly number[]): number[] {
  const scaled = scaledWeights(weights);
  const total = sum(scaled);
  return scaled.map((weight) => weight / total);
}

/** The sum of numbers. */
export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/**
 * The weights divided by the power of two at or above their sum. This is exact, and no weighted sum of finite numbers can then overflow.
 */
function scaledWeights(weights: readonly number[]): number[] {
  const total = sum(weights);
  if (!Number.isFinite(total)) throw new InputProblem("VALIDATION_ERROR", "the sum of the weights is too large");
  const exponent = Math.ceil(Math.log2(total));
  // The division has two steps, because 2 ** -exponent alone is infinite for the smallest sums.
  const half = Math.trunc(exponent / 2);
  return weights.map((weight) => weight * 2 ** -half * 2 ** -(exponent - half));
}
