import type { AppError, ErrorCode } from "../../../common/errors.ts";

/** Errors that pass with time (a rate limit, an unavailable control plane): retried many times. */
const PATIENT: readonly ErrorCode[] = ["RATE_LIMIT_EXCEEDED", "UNAVAILABLE", "DB_TIMEOUT"];
const PATIENT_ATTEMPTS_MAX = 120;
/** Errors of providers, after the router's own retries: retried a few times. */
const HOPEFUL: readonly ErrorCode[] = ["UPSTREAM_UNAVAILABLE", "UPSTREAM_TIMEOUT", "SERVER_ERROR"];
const HOPEFUL_ATTEMPTS_MAX = 3;
const DELAY_MS = 500;
const DELAY_MS_MAX = 30_000;

/** How long to wait before the next attempt; undefined if the line has failed. */
export function retryAfterMs({ code, retryAfterSeconds = 0 }: AppError, attempt: number): number | undefined {
  const attemptsMax = PATIENT.includes(code) ? PATIENT_ATTEMPTS_MAX : HOPEFUL.includes(code) ? HOPEFUL_ATTEMPTS_MAX : 1;
  if (attempt >= attemptsMax) return undefined;
  const backOffMs = Math.min(DELAY_MS * 2 ** Math.min(attempt - 1, 10), DELAY_MS_MAX);
  return Math.max(backOffMs, retryAfterSeconds * 1000);
}
