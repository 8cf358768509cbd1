/**
 * One's own training code as a participant: register functions in a module, and the node's threads load it.
 * Start it with `run()` at the end of that module, or name the module to a node with TRAINER_FUNCTIONS.
 */
import { isMainThread } from "node:worker_threads";
import type { ProblemDetails } from "./compute/problem.ts";
import { type ErrorKind, TrainerError } from "./errors.ts";
import type { AggregateFunction, EvaluateFunction, TrainFunction } from "./functions/function-types.ts";
import { register } from "./functions/registry.ts";
import type { RunOptions } from "./functions/run-options.ts";

/** Answers with its own status and code (`SHAPE_MISMATCH`: 422). Whatever else a function throws is a 500 FUNCTION_ERROR. */
export class ParticipantError extends TrainerError {
  constructor(kind: ErrorKind, message: string, details?: ProblemDetails) {
    super(kind, message, { details });
    this.name = "ParticipantError";
  }
}

/** `func(parameters, dataset, context)` gives parameters, or a TrainResult. */
export function registerTrain(func: TrainFunction): void {
  register("train", func);
}

/** `func(parameters, dataset, context)` gives an accuracy, or an EvaluateResult. */
export function registerEvaluate(func: EvaluateFunction): void {
  register("evaluate", func);
}

/** `func(parametersList, context)` gives parameters, or an AggregateResult. */
export function registerAggregate(func: AggregateFunction): void {
  register("aggregate", func);
}

/**
 * Serves what the program's own module registers, until SIGINT or SIGTERM; settles once it is ready. The threads load the same module and
 * come by here too: for them there is nothing to do.
 */
export async function run(options: RunOptions = {}): Promise<void> {
  if (!isMainThread) return;
  // Loaded here and not above: the threads need none of it.
  const { serve } = await import("./serve.ts");
  const { environmentOf } = await import("./functions/run-options.ts");
  await serve("tributary participant", environmentOf(options, { environment: process.env, program: process.argv[1] }));
}
