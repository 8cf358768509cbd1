import { fedyogi as strategy } from "../../../common/strategies/fedyogi.ts";
import { adaptiveAggregator } from "./adaptive.ts";

export const fedyogi = adaptiveAggregator(
  strategy,
  (held, change, beta2) => held - (1 - beta2) * change * change * Math.sign(held - change * change),
);
