import { bufferSetting } from "./shared/buffer-setting.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const fedasync = declareStrategy({
  name: "fedasync",
  description: "FedAsync (Xie 2019): clients mixed into the base one by one, the less the staler",
  settings: {
    alpha: { type: "number", above: 0, max: 1, default: 0.6, description: "mixing weight of a fresh client" },
    staleness: { type: "list", min: 0, whole: true, default: 0, only: "aggregate", description: "rounds each client is behind" },
    decay: {
      type: "choice",
      of: ["polynomial", "hinge", "constant"],
      default: "polynomial",
      description: "how staleness weakens a client",
    },
    a: { type: "number", above: 0, max: 1000, default: 0.5, description: "exponent of polynomial, slope of hinge" },
    b: { type: "number", min: 0, max: 1e6, default: 4, description: "rounds that hinge forgives" },
    buffer: bufferSetting(1),
  },
  sees: "each",
  timing: "asynchronous",
  base: "required",
  usesWeights: false,
  fill: ({ round, updates }) => ({ staleness: updates.map(({ baseRound }) => round - 1 - baseRound) }),
});
