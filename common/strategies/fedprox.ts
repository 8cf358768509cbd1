import { declareStrategy } from "./shared/strategy.ts";

export const fedprox = declareStrategy({
  name: "fedprox",
  description: "FedProx (Li 2020): the server step of FedAvg; clients train with config.mu, the proximal term",
  settings: {
    mu: { type: "number", min: 0, max: 1000, only: "federation", description: "weight of the proximal term in the participants' training" },
  },
  sees: "sum",
  base: "unused",
  usesWeights: true,
  prepare: ({ mu }) => (mu === undefined ? {} : { mu }),
});
