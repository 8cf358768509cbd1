import { declareStrategy } from "./shared/strategy.ts";

export const fedavg = declareStrategy({
  name: "fedavg",
  description: "FedAvg (McMahan 2017): mean weighted by sample counts, given as `weights`",
  settings: {},
  sees: "sum",
  base: "unused",
  usesWeights: true,
  formats: "any",
});
