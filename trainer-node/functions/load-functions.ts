import { TrainerError } from "../errors.ts";
import { type FunctionName, registeredNames } from "./registry.ts";

/** Loads the operator's module in this thread, which registers its functions. The address comes from the operator, never from a call. */
export async function loadFunctions(url: string): Promise<readonly FunctionName[]> {
  try {
    await import(url);
  } catch (cause) {
    const shown = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    throw new TrainerError("SERVER_ERROR", `the module of functions could not be loaded: ${shown}`, { cause });
  }
  const names = registeredNames();
  if (names.length === 0)
    throw new TrainerError(
      "SERVER_ERROR",
      "the module registered no function: call registerTrain, registerEvaluate, registerAggregate or registerServe in it",
    );
  return names;
}
