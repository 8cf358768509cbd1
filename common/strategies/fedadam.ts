import { ADAPTIVE_SETTINGS } from "./shared/adaptive-settings.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const fedadam = declareStrategy({
  name: "fedadam",
  description: "FedAdam (Reddi 2021)",
  settings: ADAPTIVE_SETTINGS,
  sees: "sum",
  base: "required",
  usesWeights: true,
  adaptive: true,
});
