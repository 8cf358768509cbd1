import { fedadagrad as strategy } from "../../../common/strategies/fedadagrad.ts";
import { adaptiveAggregator } from "./adaptive.ts";

export const fedadagrad = adaptiveAggregator(strategy, (held, change) => held + change * change);
