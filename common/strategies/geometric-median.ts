import { declareStrategy } from "./shared/strategy.ts";

export const geometricMedian = declareStrategy({
  name: "geometric_median",
  description: "geometric median (RFA, Pillutla 2022), smoothed Weiszfeld",
  settings: {
    iterations: { type: "number", min: 1, max: 1000, whole: true, default: 32, description: "most steps" },
    smoothing: { type: "number", above: 0, max: 1, default: 1e-6, description: "least distance ν that is divided by" },
    tolerance: { type: "number", min: 0, max: 1, default: 1e-9, description: "relative gain below which it stops" },
  },
  sees: "each",
  base: "unused",
  usesWeights: true,
  robust: true,
});
