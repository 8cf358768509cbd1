import { declareStrategy } from "./shared/strategy.ts";

export const qfedavg = declareStrategy({
  name: "qfedavg",
  description: "q-FedAvg (Li 2020): fairness, clients of higher loss count for more",
  settings: {
    losses: { type: "list", min: 0, required: true, only: "aggregate", description: "loss of the base on each client's data" },
    q: { type: "number", min: 0, max: 100, default: 0.2, description: "0 is the plain mean" },
    lr: { type: "number", above: 0, max: 100, default: 0.1, description: "learning rate of the clients, 1 / L" },
  },
  sees: "each",
  base: "required",
  usesWeights: false,
  notInFederations: "needs every participant's loss on the parameters it began with",
});
