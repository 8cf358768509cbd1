import { BYZANTINE_CLIENTS } from "./shared/byzantine-clients.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const multiKrum = declareStrategy({
  name: "multi_krum",
  description: "multi-Krum (Blanchard 2017): mean of the m clients nearest to their neighbors; needs 2f + 2 < n",
  settings: {
    f: BYZANTINE_CLIENTS,
    m: { type: "number", min: 1, whole: true, description: "clients kept; n - f where absent" },
  },
  leastClients: (setting) => [
    { setting: "f", least: 2 * Number(setting("f")) + 3 },
    { setting: "m", least: Number(setting("m") ?? 1) },
  ],
  sees: "each",
  base: "unused",
  usesWeights: false,
  robust: true,
});
