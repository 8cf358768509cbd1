import { declareStrategy } from "./shared/strategy.ts";

export const trimmedMean = declareStrategy({
  name: "trimmed_mean",
  description: "coordinate-wise trimmed mean (Yin 2018)",
  settings: { beta: { type: "number", min: 0, below: 0.5, default: 0.2, description: "share cut off at each end" } },
  sees: "each",
  base: "unused",
  usesWeights: false,
  robust: true,
});
