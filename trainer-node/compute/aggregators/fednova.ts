import { fednova as strategy } from "../../../common/strategies/fednova.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";
import { shares, stepFrom, sum } from "./weighted-mean.ts";

/**
 * Wang et al. 2020: w + τ_eff · Σ p_i · (x_i - w) / τ_i, with τ_eff = Σ p_i · τ_i, so that clients with more local steps do not weigh more.
 */
export const fednova: Aggregator = {
  ...strategy,
  columnwise: true,
  run: (input) => {
    const steps = input.settings.list("steps");
    const parts = shares(input.weights);
    const effective = sum(parts.map((part, client) => part * (steps[client] as number)));
    const coefficients = parts.map((part, client) => (effective * part) / (steps[client] as number));
    return { model: stepFrom(requiredBase(input), input.vectors, coefficients) };
  },
};
