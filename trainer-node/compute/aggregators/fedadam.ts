import { fedadam as strategy } from "../../../common/strategies/fedadam.ts";
import { adaptiveAggregator } from "./adaptive.ts";

export const fedadam = adaptiveAggregator(strategy, (held, change, beta2) => beta2 * held + (1 - beta2) * change * change);
