import { geometricMedian as strategy } from "../../../common/strategies/geometric-median.ts";
import { distanceOf, type Model } from "../clients/model.ts";
import type { Vectors } from "../clients/vectors.ts";
import type { Aggregator, AggregatorInput, AggregatorOutput } from "./aggregator.ts";
import type { Settings } from "./settings.ts";
import { shares, sum, weightedMean } from "./weighted-mean.ts";

/**
 * Pillutla et al. 2022 (RFA): the smoothed Weiszfeld algorithm. Each step is a mean weighted by the inverse distances to the previous one.
 * A few steps from a start that one update decides end where that update is, so the start is robust, too, and so is the scale by which it
 * stops: clients with less than half of the weight can be anywhere.
 */
export const geometricMedian: Aggregator = {
  ...strategy,
  run: (input) => (input.settings.choice("start") === "mean" ? fromMean(input) : fromMedian(input)),
};

function fromMedian({ vectors, weights, settings }: AggregatorInput): AggregatorOutput {
  const parts = shares(weights);
  const tolerance = settings.number("tolerance");
  let model: Model = startOf(vectors, { weights, parts, settings });
  let inverse: number[] = parts;
  for (let step = 0; step < settings.number("iterations"); step++) {
    const { values: distances, scale } = vectors.lengthsTo(model);
    inverse = inverseOf(distances, parts, settings.number("smoothing") * scale);
    const next = weightedMean(vectors, inverse);
    const moved = distanceOf(next, model);
    model = next;
    if (moved * scale <= tolerance * weightedMedian(distances, parts)) break;
  }
  return outputOf(model, inverse, weights);
}

/**
 * A mean in which a client counts less the farther it is from the weighted median of every coordinate, beyond the median distance to that.
 * For ordinary updates it is near the mean. The steps do not begin at the median itself, because it may be one of the clients: there they
 * are as small as `smoothing`.
 */
function startOf(
  vectors: Vectors,
  { weights, parts, settings }: { weights: readonly number[]; parts: number[]; settings: Settings },
): Model {
  const { values: distances, scale } = vectors.lengthsTo(vectors.weightedMedian(parts));
  const usual = Math.max(weightedMedian(distances, parts), settings.number("smoothing") * scale);
  return weightedMean(
    vectors,
    weights.map((weight, client) => weight * Math.min(1, usual / (distances[client] as number))),
  );
}

/** As versions did whose records have no other start: verification makes their rounds again. One huge update decides where it ends. */
function fromMean({ vectors, weights, settings }: AggregatorInput): AggregatorOutput {
  const parts = shares(weights);
  const [smoothing, tolerance] = [settings.number("smoothing"), settings.number("tolerance")];
  let model = weightedMean(vectors, weights);
  let last = Number.POSITIVE_INFINITY;
  let inverse: number[] = parts;
  for (let step = 0; step < settings.number("iterations"); step++) {
    const distances = [...vectors.distancesTo(model)].map((squared) => Math.max(Math.sqrt(squared), smoothing));
    const spread = sum(distances.map((distance, client) => distance * (parts[client] as number)));
    if (last - spread <= tolerance * spread) break;
    last = spread;
    inverse = inverseOf(distances, parts, smoothing);
    model = weightedMean(vectors, inverse);
  }
  return outputOf(model, inverse, weights);
}

function inverseOf(distances: Iterable<number>, parts: readonly number[], smoothing: number): number[] {
  return Array.from(distances, (distance, client) => (parts[client] as number) / Math.max(distance, smoothing));
}

function outputOf(model: Model, inverse: readonly number[], weights: readonly number[]): AggregatorOutput {
  const total = sum(inverse);
  return { model, verdicts: inverse.map((weight, client) => ({ accepted: (weights[client] as number) > 0, score: weight / total })) };
}

/** The least value that half of the weight is not above. */
function weightedMedian(values: ArrayLike<number>, parts: readonly number[]): number {
  const places = [...parts.keys()].toSorted((left, right) => (values[left] as number) - (values[right] as number) || left - right);
  const half = sum(parts) / 2;
  let below = 0;
  for (const place of places) {
    below += parts[place] as number;
    if (below >= half) return values[place] as number;
  }
  return values[places.at(-1) ?? 0] as number;
}
