import { fedavgm as strategy } from "../../../common/strategies/fedavgm.ts";
import { difference, mapModels } from "../clients/model.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";
import { weightedMean } from "./weighted-mean.ts";

/** Hsu et al. 2019: v = momentum · v + Δ, w = w + lr · v, where Δ is the mean update. */
export const fedavgm: Aggregator = {
  ...strategy,
  columnwise: true,
  slots: ["velocity"],
  run: (input) => {
    const { vectors, weights, settings, state } = input;
    const base = requiredBase(input);
    const delta = difference(weightedMean(vectors, weights), base);
    const [momentum, lr] = [settings.number("momentum"), settings.number("lr")];
    const velocity = mapModels([state["velocity"] ?? vectors.zeros(), delta], (held, change) => momentum * held + change);
    return { model: mapModels([base, velocity], (weight, speed) => weight + lr * speed), state: { velocity } };
  },
};
