import { bufferSetting } from "./shared/buffer-setting.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const fedbuff = declareStrategy({
  name: "fedbuff",
  description: "FedBuff (Nguyen 2022): a round is the mean of buffered updates, each weakened by its staleness",
  settings: {
    lr: { type: "number", above: 0, max: 100, default: 1, only: "federation", description: "server learning rate" },
    buffer: bufferSetting(3),
  },
  sees: "each",
  timing: "asynchronous",
  base: "unused",
  usesWeights: true,
  aggregatedBy: "mean",
  rebase: ({ lr = 1 }, staleness) => Number(lr) / Math.sqrt(1 + staleness),
});
