import { fedavgDecay as strategy } from "../../../common/strategies/fedavg-decay.ts";
import { mapModels } from "../clients/model.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";
import { weightedMean } from "./weighted-mean.ts";

/** FedAvg with a server learning rate that decays from round to round, so that the last rounds converge. */
export const fedavgDecay: Aggregator = {
  ...strategy,
  columnwise: true,
  run: (input) => {
    const { vectors, weights, settings } = input;
    const rate = settings.number("lr") * settings.number("decay") ** (settings.number("round") - 1);
    const model = mapModels([requiredBase(input), weightedMean(vectors, weights)], (base, mean) => base + rate * (mean - base));
    return { model };
  },
};
