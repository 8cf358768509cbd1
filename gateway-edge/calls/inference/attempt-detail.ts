import type { AppError } from "../../../common/errors.ts";
import type { AttemptDetail } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { ServedDeployment } from "./call-row.ts";

const ERROR_CHARACTERS_MAX = 300;

/** How an attempt failed. */
export interface AttemptFailure {
  readonly error: AppError;
  /** Absent if the provider did not answer, or failed after its status. */
  readonly upstreamStatus?: number | undefined;
}

export function failedAttempt(
  { deployment }: ServedDeployment["attempt"],
  { error, upstreamStatus }: AttemptFailure,
  latencyMs: number,
): AttemptDetail {
  return {
    deploymentId: deployment.id,
    provider: deployment.model?.providerName || deployment.providerKind,
    status: upstreamStatus,
    errorText: `${error.code}: ${error.message}`.slice(0, ERROR_CHARACTERS_MAX),
    latencyMs,
  };
}

/** The attempt that answered after others had failed. */
export function lastAttempt({ attempt: { deployment } }: ServedDeployment, latencyMs: number): AttemptDetail {
  const provider = deployment.model?.providerName || deployment.providerKind;
  return { deploymentId: deployment.id, provider, status: 200, errorText: undefined, latencyMs };
}
