/**
 * Custom training code as a participant: a module registers functions, and the node's threads load it. Start the node with `run()` at the
 * end of that module, or set TRAINER_FUNCTIONS to the module.
 */
import { isMainThread } from "node:worker_threads";
import type { ProblemDetails } from "./compute/problem.ts";
import { type ErrorKind, TrainerError } from "./errors.ts";
import type { AggregateFunction, EvaluateFunction, InitialFunction, ServeFunction, TrainFunction } from "./functions/function-types.ts";
import { register } from "./functions/registry.ts";
import type { RunOptions } from "./functions/run-options.ts";

/**
 * An error that a function may throw to answer with a status and code of its own (`SHAPE_MISMATCH`: 422). All other errors of a function
 * are a 500 FUNCTION_ERROR.
 */
export class ParticipantError extends TrainerError {
  constructor(kind: ErrorKind, message: string, details?: ProblemDetails) {
    super(kind, message, { details });
    this.name = "ParticipantError";
  }
}

/** Registers the function of /train: `func(parameters, dataset, context)` returns parameters or a TrainResult. */
export function registerTrain(func: TrainFunction): void {
  register("train", func);
}

/** Registers the function of /evaluate: `func(parameters, dataset, context)` returns an accuracy or an EvaluateResult. */
export function registerEvaluate(func: EvaluateFunction): void {
  register("evaluate", func);
}

/** Registers the function of /aggregate: `func(parametersList, context)` returns parameters or an AggregateResult. */
export function registerAggregate(func: AggregateFunction): void {
  register("aggregate", func);
}

/** Registers the function of /serve: `func(parameters, input, context)` answers a call of the published model, with text or a value as JSON. */
export function registerServe(func: ServeFunction): void {
  register("serve", func);
}

/**
 * Registers the function that gives untrained parameters: `func(context)` returns those of a new model. A federation with central noise asks for
 * them before round 1.
 */
export function registerInitial(func: InitialFunction): void {
  register("initial", func);
}

/**
 * Serves the functions that the program's module registers, until SIGINT or SIGTERM. The promise settles when the node is ready. The node's
 * threads load the same module and call this too; there it does nothing.
 */
export async function run(options: RunOptions = {}): Promise<void> {
  if (!isMainThread) return;
  // A dynamic import: the threads do not need this code.
  const { serve } = await import("./serve.ts");
  const { environmentOf } = await import("./functions/run-options.ts");
  await serve("tributary participant", environmentOf(options, { environment: process.env, program: process.argv[1] }));
}
