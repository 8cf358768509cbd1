import { trimmedMean as strategy } from "../../../common/strategies/trimmed-mean.ts";
import { InputProblem } from "../problem.ts";
import type { Aggregator } from "./aggregator.ts";
import { meanOfRows } from "./sorted-rows.ts";

/** Yin et al. 2018: of every coordinate, the mean without the floor(beta · n) least and as many greatest. Weights have no part. */
export const trimmedMean: Aggregator = {
  ...strategy,
  columnwise: true,
  run: ({ vectors, settings }) => {
    const cut = Math.floor(settings.number("beta") * vectors.count);
    if (vectors.count - 2 * cut < 1) {
      throw new InputProblem("TOO_FEW_CLIENTS", `trimmed_mean would cut all of ${vectors.count} clients`, { setting: "beta" });
    }
    return { model: vectors.reduceSorted(meanOfRows(cut, vectors.count - 1 - cut)) };
  },
};
