import { declareStrategy } from "./shared/strategy.ts";

export const mean = declareStrategy({
  name: "mean",
  description: "mean of the clients, weighted by `weights` (default equal)",
  settings: {},
  sees: "sum",
  base: "unused",
  usesWeights: true,
  formats: "any",
});
