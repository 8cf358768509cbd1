import { BYZANTINE_CLIENTS } from "./shared/byzantine-clients.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const bulyan = declareStrategy({
  name: "bulyan",
  description: "Bulyan (El Mhamdi 2018) over Krum; needs n >= 4f + 3",
  settings: { f: BYZANTINE_CLIENTS },
  sees: "each",
  base: "unused",
  usesWeights: false,
  robust: true,
});
