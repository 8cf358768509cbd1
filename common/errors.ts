/**
 * The list of error codes and the error class that carries them. `message` is for the caller, `internal` only
 * for logs. Each protocol maps codes to statuses in one table: grpc/status.ts here, error-response at the edge.
 */
export const ERROR_CODES = [
  "UNAUTHORIZED",
  "FORBIDDEN",
  "VALIDATION_ERROR",
  "NOT_FOUND",
  "QUOTA_EXCEEDED",
  "TEAM_BLOCKED",
  "SERVER_ERROR",
  "DB_TIMEOUT",
  // More specific than the eight codes of the platform API, which reports each of these as one of the eight.
  "ALREADY_EXISTS",
  "IDEMPOTENCY_CONFLICT",
  "PAYLOAD_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "METHOD_NOT_ALLOWED",
  "LOGIN_THROTTLED",
  "UNAVAILABLE",
  // Codes of the gateway only.
  "INVALID_API_KEY",
  "INVALID_JSON",
  "INVALID_REQUEST",
  "UNPROCESSABLE",
  "UNSUPPORTED_PARAMETER",
  "MODEL_NOT_FOUND",
  "MODEL_NOT_ALLOWED",
  "CONTEXT_LENGTH_EXCEEDED",
  "CONTENT_POLICY_VIOLATION",
  "RATE_LIMIT_EXCEEDED",
  "UPSTREAM_TIMEOUT",
  "UPSTREAM_UNAVAILABLE",
  "RECORD_CHANGED",
  "JSON_SCHEMA_VALIDATION",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface ErrorDetail {
  /** Location in the request: "body.team_id", "query.page". */
  path: string;
  message: string;
}

/** Rate limits of a call, and what is left of them in this minute. */
export interface RateState {
  limitRequests?: number | undefined;
  remainingRequests?: number | undefined;
  limitTokens?: number | undefined;
  remainingTokens?: number | undefined;
  resetSeconds: number;
}

export interface AppErrorOptions {
  internal?: string | undefined;
  details?: readonly ErrorDetail[] | undefined;
  /** The invalid parameter of a gateway request. */
  param?: string | undefined;
  retryAfterSeconds?: number | undefined;
  /** Set for an exceeded rate limit. */
  rate?: RateState | undefined;
  cause?: unknown;
  /** All allowed retries are used up, so the caller should not retry. */
  retried?: boolean | undefined;
  /** The provider's own word for a bad request, such as `unsupported_value`. */
  upstreamCode?: string | undefined;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly internal: string | undefined;
  readonly details: readonly ErrorDetail[];
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly rate: RateState | undefined;
  readonly retried: boolean;
  readonly upstreamCode: string | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.internal = options.internal;
    this.details = options.details ?? [];
    this.param = options.param;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.rate = options.rate;
    this.retried = options.retried ?? false;
    this.upstreamCode = options.upstreamCode;
  }
}

/** Converts anything thrown to an AppError; an unexpected error becomes a SERVER_ERROR whose text appears only in the log. */
export function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const internal = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return new AppError("SERVER_ERROR", "Something went wrong on our side.", { internal, cause: thrown });
}

/** Whether the same request can succeed later: the control plane was away, too slow or failed, and did not refuse the request. */
export function isTransient({ code }: AppError): boolean {
  return code === "UNAVAILABLE" || code === "DB_TIMEOUT" || code === "SERVER_ERROR";
}
