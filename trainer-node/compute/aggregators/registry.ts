import type { Aggregator } from "./aggregator.ts";
import { AGGREGATORS } from "./gen/aggregators.ts";

export const STRATEGY_NAMES: readonly string[] = AGGREGATORS.map((aggregator) => aggregator.name);

export function findAggregator(name: string): Aggregator | undefined {
  return AGGREGATORS.find((aggregator) => aggregator.name === name);
}
