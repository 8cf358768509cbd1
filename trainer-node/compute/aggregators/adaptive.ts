import type { Strategy } from "../../../common/strategies/shared/strategy.ts";
import { difference, mapModels } from "../clients/model.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";
import { weightedMean } from "./weighted-mean.ts";

/**
 * Reddi et al. 2021, algorithm 2: m = β1·m + (1-β1)·Δ, then v by `second`, then w = w + η·m / (√v + τ). There is no bias correction, and
 * both moments start at 0. The three strategies differ in `second` only.
 */
export function adaptiveAggregator(strategy: Strategy, second: (moment: number, change: number, beta2: number) => number): Aggregator {
  return {
    ...strategy,
    columnwise: true,
    slots: ["first", "second"],
    run: (input) => {
      const { vectors, weights, settings, state } = input;
      const base = requiredBase(input);
      const delta = difference(weightedMean(vectors, weights), base);
      const [lr, beta1, beta2, tau] = ["lr", "beta1", "beta2", "tau"].map(settings.number) as [number, number, number, number];
      const first = mapModels([state["first"] ?? vectors.zeros(), delta], (moment, change) => beta1 * moment + (1 - beta1) * change);
      const moments = mapModels([state["second"] ?? vectors.zeros(), delta], (moment, change) => second(moment, change, beta2));
      const model = mapModels([base, first, moments], (weight, m, v) => weight + (lr * m) / (Math.sqrt(v) + tau));
      return { model, state: { first, second: moments } };
    },
  };
}
