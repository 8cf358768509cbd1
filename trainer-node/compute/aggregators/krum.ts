import { krum as strategy } from "../../../common/strategies/krum.ts";
import type { Aggregator } from "./aggregator.ts";
import { keepLowest } from "./multi-krum.ts";

/** Blanchard et al. 2017: the client with the lowest score. */
export const krum: Aggregator = { ...strategy, run: (input) => keepLowest(input, 1) };
