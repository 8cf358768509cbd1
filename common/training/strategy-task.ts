import { strategyNamed } from "../strategies/shared/registry.ts";
import type { StrategyProblem } from "../strategies/shared/strategy.ts";
import type { FederationSettings } from "./federation-settings.ts";

/** What a strategy does not work with in the task of a new federation, by path. Federations that are stored go on as they were created. */
export function strategyTaskProblems({ strategy, task }: Pick<FederationSettings, "strategy" | "task">): readonly StrategyProblem[] {
  return strategyNamed(strategy.name).taskProblems?.(strategy, task.config) ?? [];
}
