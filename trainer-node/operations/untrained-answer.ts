import { UNTRAINED_METRIC } from "../../common/training/untrained-start.ts";
import { InputProblem } from "../compute/problem.ts";
import { type OperationAnswer, sha256 } from "./answer.ts";

/** `config.untrained` asks for a new model, so a call with it has no parameters. */
export function refuseParameters({ parameters, parameters_ref: reference }: { parameters?: unknown; parameters_ref?: unknown }): void {
  if (!parameters && !reference) return;
  const message = "body.config.untrained: asks for a new model, so the call must have no parameters";
  throw new InputProblem("VALIDATION_ERROR", message, { field: "config.untrained" });
}

/** The answer of a train call with `config.untrained`. Its metric says that nothing was trained; a count of samples would be data. */
export function untrainedAnswer(parameters: readonly Uint8Array[], fields: Readonly<Record<string, unknown>>): OperationAnswer {
  return { parameters, fields: { metrics: { [UNTRAINED_METRIC]: 1 }, sha256: sha256(parameters), ...fields } };
}
