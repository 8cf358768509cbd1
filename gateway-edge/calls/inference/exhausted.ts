import { AppError } from "../../../common/errors.ts";
import type { RouteRun } from "../../upstream/routing/route.ts";

/** The error of a call for which no further deployment is tried: the last one's, marked if it was not the only attempt. */
export function exhausted({ lastError, retries, fallbacks }: RouteRun, model: string): AppError {
  if (!lastError) return new AppError("UPSTREAM_UNAVAILABLE", `No provider of the model ${model} can be reached.`);
  if (retries + fallbacks === 0) return lastError;
  const { code, message, internal, details, param, retryAfterSeconds, upstreamCode } = lastError;
  return new AppError(code, message, {
    internal,
    details,
    param,
    retryAfterSeconds,
    upstreamCode,
    retried: true,
    cause: lastError,
  });
}
