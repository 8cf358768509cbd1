import { BYZANTINE_CLIENTS } from "./shared/byzantine-clients.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const krum = declareStrategy({
  name: "krum",
  description: "Krum (Blanchard 2017): the one client nearest to its neighbors; needs 2f + 2 < n",
  settings: { f: BYZANTINE_CLIENTS },
  leastClients: (setting) => [{ setting: "f", least: 2 * Number(setting("f")) + 3 }],
  sees: "each",
  base: "unused",
  usesWeights: false,
  robust: true,
});
