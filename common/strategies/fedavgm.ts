import { declareStrategy } from "./shared/strategy.ts";

export const fedavgm = declareStrategy({
  name: "fedavgm",
  description: "FedAvgM (Hsu 2019): server momentum on the mean update",
  settings: {
    momentum: { type: "number", min: 0, below: 1, default: 0.9, description: "share of the last velocity that is kept" },
    lr: { type: "number", above: 0, max: 100, default: 1, description: "server learning rate" },
  },
  sees: "sum",
  base: "required",
  usesWeights: true,
});
