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
  const message = "All connections of this gateway to the model's provider (UPSTREAM_CONNECTIONS_MAX) are in use. Try again later.";
  return new AppError("UNAVAILABLE", message, { retryAfterSeconds: 1, cause });
}
