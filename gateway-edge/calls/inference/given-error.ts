import { AppError } from "../../../common/errors.ts";
import type { ClientParams } from "../../upstream/client-params.ts";

/** The error of an attempt with a client's parameters: without the client's key, which the upstream may repeat. */
export function errorOfGiven(given: ClientParams, error: AppError, { isPlaceRefused }: { isPlaceRefused: boolean }): AppError {
  if (isPlaceRefused && given.apiBase !== undefined) {
    const message = "api_base is a private or reserved address, which this gateway does not call for clients.";
    return new AppError("INVALID_REQUEST", message, { internal: error.internal, param: "api_base" });
  }
  const { code, param, retryAfterSeconds, retried } = error;
  const internal = error.internal === undefined ? undefined : given.mask(error.internal);
  const details = error.details.map(({ path, message }) => ({ path, message: given.mask(message) }));
  // Without its cause, whose text may have the key too.
  return new AppError(code, given.mask(error.message), { internal, details, param, retryAfterSeconds, retried });
}

/** An upstream that refuses the client's own credentials: its 401 or 403 is the client's mistake, and not the operator's. */
export function refusedGiven(given: ClientParams, error: AppError, upstreamStatus: number | undefined): AppError {
  const isRefused = (upstreamStatus === 401 || upstreamStatus === 403) && error.code === "UPSTREAM_UNAVAILABLE";
  if (!isRefused || given.usesStoredKey) return error;
  const what = given.apiKey === undefined ? "The server at api_base wants an api_key" : "The provider refused the api_key of the request";
  return new AppError("INVALID_REQUEST", `${what}.`, { internal: error.internal, param: "api_key" });
}
