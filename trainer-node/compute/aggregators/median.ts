import { type Aggregator, NO_STATE } from "./aggregator.ts";
import { meanOfRows } from "./sorted-rows.ts";

/** Yin et al. 2018: the median of every coordinate; of an even number of clients, the mean of the middle two. Weights have no part. */
export const median: Aggregator = {
  name: "median",
  about: "coordinate-wise median (Yin 2018)",
  settings: {},
  base: "unused",
  usesWeights: false,
  columnwise: true,
  ...NO_STATE,
  run: ({ vectors }) => ({
    model: vectors.reduceSorted(meanOfRows(Math.floor((vectors.count - 1) / 2), Math.floor(vectors.count / 2))),
  }),
};
