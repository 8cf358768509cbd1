import type { Aggregator } from "./aggregator.ts";
import { AGGREGATORS } from "./gen/aggregators.ts";

/** The names of all strategies. */
export const STRATEGY_NAMES: readonly string[] = AGGREGATORS.map((aggregator) => aggregator.name);

/** The aggregator of a strategy. */
export function findAggregator(name: string): Aggregator | undefined {
  return AGGREGATORS.find((aggregator) => aggregator.name === name);
}
