import { AppError } from "../../../common/errors.ts";
import { requireScope } from "../../../common/key-scopes.ts";
import { callerBlocked } from "../../../common/team-blocked.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";

export interface Admission {
  readonly caller: Caller;
  readonly model: string;
  /** Other models the client named; it must be allowed to use them too. */
  readonly alternatives: readonly string[];
  /** Whether there is such a model, and whether the caller may use it. */
  readonly exists: (model: string) => boolean;
  readonly mayUse: (model: string) => boolean;
}

/** Whether a caller may use a model; throws the reason if not. Credit and limits are checked later. */
export function admit(admission: Admission): void {
  refuseBlocked(admission.caller);
  // Also work that was queued when the key had the scope.
  requireScope(admission.caller, "inference");
  refuseModel(admission, { model: admission.model, param: "model" });
  for (const model of admission.alternatives) refuseModel(admission, { model, param: "fallbacks" });
}

function refuseBlocked(caller: Caller): void {
  if (caller.status !== "team_blocked") return;
  throw callerBlocked(caller);
}

function refuseModel({ exists, mayUse }: Admission, { model, param }: { model: string; param: string }): void {
  if (!exists(model)) throw modelNotFound(model, param);
  if (!mayUse(model)) throw modelNotAllowed(model, param);
}

export function modelNotFound(model: string, param: string): AppError {
  return new AppError("MODEL_NOT_FOUND", `The model ${model} does not exist.`, { param });
}

export function modelNotAllowed(model: string, param: string): AppError {
  return new AppError("MODEL_NOT_ALLOWED", `This API key may not use the model ${model}.`, { param });
}
