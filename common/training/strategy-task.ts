import { strategyNamed } from "../strategies/shared/registry.ts";
import type { GivenStrategy, StrategyProblem } from "../strategies/shared/strategy.ts";
import type { FederationSettings } from "./federation-settings.ts";

type Asked = Pick<FederationSettings, "strategy" | "task">;

/** What a strategy does not work with in the task of a new federation, by path. Federations that are stored go on as they were created. */
export function strategyTaskProblems({ strategy, task }: Asked): readonly StrategyProblem[] {
  return strategyNamed(strategy.name).taskProblems?.(strategy, task.config) ?? [];
}

/** The strategy of a new federation, with the settings that the task leaves to it. */
export function filledStrategy({ strategy, task }: Asked): GivenStrategy {
  return strategyNamed(strategy.name).filled?.(strategy, task.config) ?? strategy;
}
