import { declareStrategy } from "./shared/strategy.ts";

export const geometricMedian = declareStrategy({
  name: "geometric_median",
  description: "geometric median (RFA, Pillutla 2022), smoothed Weiszfeld",
  settings: {
    iterations: { type: "number", min: 1, max: 1000, whole: true, default: 32, description: "most steps" },
    smoothing: { type: "number", above: 0, max: 1, default: 1e-6, description: "least distance ν that is divided by" },
    tolerance: {
      type: "number",
      min: 0,
      max: 1,
      default: 1e-9,
      description: "movement in a step, as a part of the median distance, below which it stops",
    },
    start: {
      type: "choice",
      of: ["median", "mean"],
      default: "median",
      only: "aggregate",
      description: "where it starts; mean is as earlier versions did and not robust, to make their rounds again",
    },
  },
  sees: "each",
  base: "unused",
  usesWeights: true,
  robust: true,
});
