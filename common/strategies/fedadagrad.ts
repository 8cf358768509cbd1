import { ADAPTIVE_SETTINGS } from "./shared/adaptive-settings.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const fedadagrad = declareStrategy({
  name: "fedadagrad",
  description: "FedAdagrad (Reddi 2021)",
  // The paper runs it without momentum.
  settings: { ...ADAPTIVE_SETTINGS, beta1: { ...ADAPTIVE_SETTINGS.beta1, default: 0 } },
  sees: "sum",
  base: "required",
  usesWeights: true,
  adaptive: true,
});
