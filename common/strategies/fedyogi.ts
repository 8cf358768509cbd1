import { ADAPTIVE_SETTINGS } from "./shared/adaptive-settings.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const fedyogi = declareStrategy({
  name: "fedyogi",
  description: "FedYogi (Reddi 2021)",
  settings: ADAPTIVE_SETTINGS,
  sees: "sum",
  base: "required",
  usesWeights: true,
  adaptive: true,
});
