import { createRandom, PURPOSE } from "../compute/random.ts";
import type { Sampling } from "./serve-request.ts";

/** Samples the next byte of an answer, or its end. The randomness depends on the seed and the position alone. */
export function sample(scores: Float32Array, { temperature, topP, seed }: Sampling, position: number): number {
  if (temperature === 0) return likeliest(scores);
  const { uniform } = createRandom(seed, PURPOSE.write + position * 2 ** 11);
  const top = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
  const weights = Array.from(scores, (score, byte) => ({ byte, weight: Math.exp((score - top) / temperature) }));
  const chosen = topP < 1 ? nucleus(weights, topP) : weights;
  let left = uniform() * sumOf(chosen);
  for (const { byte, weight } of chosen) {
    left -= weight;
    if (left < 0) return byte;
  }
  return chosen.at(-1)?.byte ?? likeliest(scores);
}

interface Weight {
  readonly byte: number;
  readonly weight: number;
}

/** The likeliest bytes whose weights reach this share of the sum; always at least one. */
function nucleus(weights: readonly Weight[], share: number): Weight[] {
  const enough = share * sumOf(weights);
  const chosen: Weight[] = [];
  let sum = 0;
  for (const weight of [...weights].sort((left, right) => right.weight - left.weight || left.byte - right.byte)) {
    chosen.push(weight);
    sum += weight.weight;
    if (sum >= enough) break;
  }
  return chosen;
}

function sumOf(weights: readonly Weight[]): number {
  return weights.reduce((sum, { weight }) => sum + weight, 0);
}

function likeliest(scores: Float32Array): number {
  return scores.reduce((best, score, byte) => (score > (scores[best] as number) ? byte : best), 0);
}
