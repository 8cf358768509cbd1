import { AppError } from "../../../common/errors.ts";

/** What an operator sees of calls that found all connections to their upstream in use. */
export interface ConnectionWaits {
  /** Waiting now. */
  readonly waiting: number;
  /** That got a connection after a wait, or gave up, since the start. */
  readonly waits: number;
  readonly waitedMs: number;
}

/** Nothing was sent, and nothing is known of the upstream: no deployment rests for it. */
export function connectionLimitReached(cause?: unknown): AppError {
  const message =
    "This gateway has as many calls open to the model's provider as UPSTREAM_CONNECTIONS_MAX allows, and none ended in time. Try again later.";
  return new AppError("UNAVAILABLE", message, { retryAfterSeconds: 1, cause });
}
