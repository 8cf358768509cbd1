import type { StrategyProblem, TaskConfig } from "./strategy.ts";

/** The settings of a task's training that decide how many steps it takes, and what each weighs, with the defaults of trainer nodes. */
interface Training {
  readonly epochs: number;
  readonly batch: number;
  readonly optimizer: unknown;
  readonly momentum: number;
  /** What each step takes back of the distance from the start: the learning rate times mu. */
  readonly pull: number;
}

/**
 * ‖a‖₁ of Wang et al. 2020: the sum of the weights that the gradients of a training have in its update. For plain SGD that is the number of
 * steps. Of a training that has none (`stepProblems`), which federations of earlier versions may have, it is the number of steps, too.
 */
export function weightOfSteps(samples: number, config: TaskConfig): number {
  const { epochs, batch, optimizer, momentum, pull } = trainingOf(config);
  const steps = epochs * Math.max(1, Math.ceil(samples / batch));
  if (stepProblems(config).length > 0) return steps;
  if (optimizer === "momentum") return weightWithMomentum(steps, momentum);
  // The part that 1 - pull per step has taken back, in a form that is exact for a small pull, too.
  return pull > 0 ? -Math.expm1(steps * Math.log1p(-pull)) / pull : steps;
}

/** Why the steps of a training have no such sum, by the setting of the task that it comes from. */
export function stepProblems(config: TaskConfig): StrategyProblem[] {
  const { optimizer, pull } = trainingOf(config);
  const problem = (setting: string, message: string): StrategyProblem[] => [{ path: ["task", "config", setting], message }];
  if (optimizer === "adam")
    return problem(
      "optimizer",
      "must be sgd or momentum with fednova: the steps of adam have sizes of their own, so their number says nothing",
    );
  if (!(pull > 0)) return [];
  if (optimizer === "momentum")
    return problem("mu", "does not work with fednova and the optimizer momentum, whose steps have no known weight together; use sgd");
  return pull < 1 ? [] : problem("mu", "times lr must be below 1 with fednova: above it, steps go beyond the parameters that mu pulls to");
}

/** (τ - ρ(1 - ρ^τ) / (1 - ρ)) / (1 - ρ), within the sums for ρ = 0 and 1, which rounding may leave for a ρ near 1. */
function weightWithMomentum(steps: number, momentum: number): number {
  const rest = 1 - momentum;
  const weight = (steps - (momentum * (1 - momentum ** steps)) / rest) / rest;
  return Math.min(Math.max(steps, weight), (steps * (steps + 1)) / 2);
}

function trainingOf({ epochs, batch_size: batch, optimizer, momentum, lr, mu }: TaskConfig): Training {
  return {
    ...{ epochs: Number(epochs ?? 1), batch: Number(batch ?? 10), optimizer: optimizer ?? "sgd" },
    ...{ momentum: Number(momentum ?? 0.9), pull: Number(lr ?? 0.1) * Number(mu ?? 0) },
  };
}
