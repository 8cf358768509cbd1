import { type Aggregator, NO_STATE } from "./aggregator.ts";
import { weightedMean } from "./weighted-mean.ts";

/** The mean, weighted where the request has weights: what the participant protocol has done from the start. */
export const mean: Aggregator = {
  name: "mean",
  about: "mean of the clients, weighted by `weights` (default equal)",
  settings: {},
  base: "unused",
  usesWeights: true,
  columnwise: true,
  ...NO_STATE,
  run: ({ vectors, weights }) => ({ model: weightedMean(vectors, weights) }),
};
