import { wholeDown } from "../../../common/strategies/shared/whole.ts";
import { trimmedMean as strategy } from "../../../common/strategies/trimmed-mean.ts";
import { InputProblem } from "../problem.ts";
import type { Aggregator } from "./aggregator.ts";
import { meanOfRows } from "./sorted-rows.ts";

/** Yin et al. 2018: the mean of every coordinate without the floor(beta · n) least and as many greatest values. Weights above 0 are all the same. */
export const trimmedMean: Aggregator = {
  ...strategy,
  columnwise: true,
  run: ({ vectors, settings }) => {
    const cut = wholeDown(settings.number("beta") * vectors.count);
    if (vectors.count - 2 * cut < 1) {
      throw new InputProblem("TOO_FEW_CLIENTS", `trimmed_mean would drop all ${vectors.count} clients; use a smaller beta`, {
        setting: "beta",
      });
    }
    return { model: vectors.reduceSorted(meanOfRows(cut, vectors.count - 1 - cut)) };
  },
};
