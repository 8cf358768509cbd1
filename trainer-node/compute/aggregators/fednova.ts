import { type Aggregator, NO_STATE, requiredBase } from "./aggregator.ts";
import { shares, stepFrom, sum } from "./weighted-mean.ts";

/** Wang et al. 2020: w + τ_eff · Σ p_i · (x_i - w) / τ_i, with τ_eff = Σ p_i · τ_i: who made more local steps does not count for more. */
export const fednova: Aggregator = {
  name: "fednova",
  about: "FedNova (Wang 2020): updates divided by their number of local steps",
  settings: { steps: { type: "list", above: 0, about: "local steps τ_i of each client" } },
  base: "required",
  usesWeights: true,
  columnwise: true,
  ...NO_STATE,
  run: (input) => {
    const steps = input.settings.list("steps");
    const parts = shares(input.weights);
    const effective = sum(parts.map((part, client) => part * (steps[client] as number)));
    const coefficients = parts.map((part, client) => (effective * part) / (steps[client] as number));
    return { model: stepFrom(requiredBase(input), input.vectors, coefficients) };
  },
};
