import type { AggregateFunction, EvaluateFunction, TrainFunction } from "./function-types.ts";

export interface RegisteredFunctions {
  train: TrainFunction;
  evaluate: EvaluateFunction;
  aggregate: AggregateFunction;
}

export type FunctionName = keyof RegisteredFunctions;

const NAMES: readonly FunctionName[] = ["train", "evaluate", "aggregate"];

/** One for each thread: the operator's module fills it when the thread loads it. */
const registered: Partial<RegisteredFunctions> = {};

/** Registered again, the newer one counts. */
export function register<Name extends FunctionName>(name: Name, func: RegisteredFunctions[Name]): void {
  if (typeof func !== "function") throw new TypeError(`a function for ${name} must be a function, not ${typeof func}`);
  registered[name] = func;
}

export function findFunction<Name extends FunctionName>(name: Name): RegisteredFunctions[Name] | undefined {
  return registered[name];
}

export function registeredNames(): FunctionName[] {
  return NAMES.filter((name) => registered[name] !== undefined);
}
