import { median as strategy } from "../../../common/strategies/median.ts";
import type { Aggregator } from "./aggregator.ts";
import { meanOfRows } from "./sorted-rows.ts";

/** Yin et al. 2018: the median of every coordinate; for an even number of clients, the mean of the middle two. Weights above 0 are all the same. */
export const median: Aggregator = {
  ...strategy,
  columnwise: true,
  run: ({ vectors }) => ({
    model: vectors.reduceSorted(meanOfRows(Math.floor((vectors.count - 1) / 2), Math.floor(vectors.count / 2))),
  }),
};
