import { BYZANTINE_CLIENTS } from "./shared/byzantine-clients.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const bulyan = declareStrategy({
  name: "bulyan",
  description: "Bulyan (El Mhamdi 2018) over Krum; needs n >= 4f + 3",
  settings: { f: BYZANTINE_CLIENTS },
  leastClients: (setting) => [{ setting: "f", least: 4 * Number(setting("f")) + 3 }],
  sees: "each",
  base: "unused",
  usesWeights: false,
  robust: true,
});
