import { geometricMedian as strategy } from "../../../common/strategies/geometric-median.ts";
import type { Aggregator } from "./aggregator.ts";
import { shares, sum, weightedMean } from "./weighted-mean.ts";

/**
 * Pillutla et al. 2022 (RFA): the smoothed Weiszfeld algorithm. Each step is a mean weighted by the inverse distances to the previous one.
 */
export const geometricMedian: Aggregator = {
  ...strategy,
  run: ({ vectors, weights, settings }) => {
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
      inverse = distances.map((distance, client) => (parts[client] as number) / distance);
      model = weightedMean(vectors, inverse);
    }
    const total = sum(inverse);
    return { model, verdicts: inverse.map((weight, client) => ({ accepted: (weights[client] as number) > 0, score: weight / total })) };
  },
};
