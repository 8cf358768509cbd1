import { AppError } from "../../../common/errors.ts";

/** Figures for operators: calls that found all connections to their upstream in use. */
export interface ConnectionWaits {
  /** Waiting now. */
  readonly waiting: number;
  /** Calls that waited and got a connection or gave up, since the start. */
  readonly waits: number;
  readonly waitedMs: number;
}

/** Nothing was sent, and the upstream's state is unknown: no deployment is cooled down for it. */
export function connectionLimitReached(cause?: unknown): AppError {
  const message =
    "This gateway has as many calls open to the model's provider as UPSTREAM_CONNECTIONS_MAX allows, and none ended in time. Try again later.";
  return new AppError("UNAVAILABLE", message, { retryAfterSeconds: 1, cause });
}
