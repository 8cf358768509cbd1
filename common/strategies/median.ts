import { declareStrategy } from "./shared/strategy.ts";

export const median = declareStrategy({
  name: "median",
  description: "coordinate-wise median (Yin 2018)",
  settings: {},
  sees: "each",
  base: "unused",
  usesWeights: false,
  robust: true,
});
