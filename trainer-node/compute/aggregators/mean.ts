import { mean as strategy } from "../../../common/strategies/mean.ts";
import type { Aggregator } from "./aggregator.ts";
import { weightedMean } from "./weighted-mean.ts";

/** The mean, weighted if the request has weights: the participant protocol's original aggregation. */
export const mean: Aggregator = {
  ...strategy,
  columnwise: true,
  run: ({ vectors, weights }) => ({ model: weightedMean(vectors, weights) }),
};
