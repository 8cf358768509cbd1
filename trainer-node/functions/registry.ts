import type { AggregateFunction, EvaluateFunction, InitialFunction, ServeFunction, TrainFunction } from "./function-types.ts";

/** The functions that a module may register. */
export interface RegisteredFunctions {
  train: TrainFunction;
  evaluate: EvaluateFunction;
  aggregate: AggregateFunction;
  serve: ServeFunction;
  initial: InitialFunction;
}

/** An operation that a function may be registered for, or `initial`: a train call that asks for untrained parameters. */
export type FunctionName = keyof RegisteredFunctions;

const NAMES: readonly FunctionName[] = ["train", "evaluate", "aggregate", "serve", "initial"];

/** Every thread has its own registry, which the operator's module fills when the thread loads it. */
const registered: Partial<RegisteredFunctions> = {};

/** Registers a function. A later registration replaces an earlier one. */
export function register<Name extends FunctionName>(name: Name, func: RegisteredFunctions[Name]): void {
  if (typeof func !== "function") throw new TypeError(`a function for ${name} must be a function, not ${typeof func}`);
  registered[name] = func;
}

/** The registered function of an operation, if there is one. */
export function findFunction<Name extends FunctionName>(name: Name): RegisteredFunctions[Name] | undefined {
  return registered[name];
}

/** The operations that have a registered function. */
export function registeredNames(): FunctionName[] {
  return NAMES.filter((name) => registered[name] !== undefined);
}
