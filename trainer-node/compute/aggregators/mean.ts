import { mean as strategy } from "../../../common/strategies/mean.ts";
import type { Aggregator } from "./aggregator.ts";
import { weightedMean } from "./weighted-mean.ts";

/** The mean, weighted where the request has weights: what the participant protocol has done from the start. */
export const mean: Aggregator = {
  ...strategy,
  columnwise: true,
  run: ({ vectors, weights }) => ({ model: weightedMean(vectors, weights) }),
};
