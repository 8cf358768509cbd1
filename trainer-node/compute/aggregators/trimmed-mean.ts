import { InputProblem } from "../problem.ts";
import { type Aggregator, NO_STATE } from "./aggregator.ts";
import { meanOfRows } from "./sorted-rows.ts";

/** Yin et al. 2018: of every coordinate, the mean without the floor(beta · n) least and as many greatest. Weights have no part. */
export const trimmedMean: Aggregator = {
  name: "trimmed_mean",
  about: "coordinate-wise trimmed mean (Yin 2018)",
  settings: { beta: { type: "number", min: 0, below: 0.5, default: 0.2, about: "share cut off at each end" } },
  base: "unused",
  usesWeights: false,
  columnwise: true,
  ...NO_STATE,
  run: ({ vectors, settings }) => {
    const cut = Math.floor(settings.number("beta") * vectors.count);
    if (vectors.count - 2 * cut < 1) {
      throw new InputProblem("TOO_FEW_CLIENTS", `trimmed_mean would cut all of ${vectors.count} clients`, { setting: "beta" });
    }
    return { model: vectors.reduceSorted(meanOfRows(cut, vectors.count - 1 - cut)) };
  },
};
