import { declareStrategy } from "./shared/strategy.ts";

export const fedavgDecay = declareStrategy({
  name: "fedavg_decay",
  description: "FedAvg with a server learning rate that decays: base + lr · decay^(round - 1) · (mean - base)",
  settings: {
    lr: { type: "number", above: 0, max: 100, default: 1, description: "server learning rate of round 1" },
    decay: { type: "number", above: 0, max: 1, default: 0.99, description: "factor of the learning rate from round to round" },
    round: { type: "number", min: 1, whole: true, default: 1, only: "aggregate", description: "number of the round" },
  },
  sees: "sum",
  base: "required",
  usesWeights: true,
  fill: ({ round }) => ({ round }),
});
