/**
 * The one list of what can go wrong, and the one class that carries it. `message` is for the caller, `internal` only
 * for logs. How a code becomes a status is decided once per protocol: grpc/status.ts here, error-response at the edge.
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
  // Finer than the eight of the platform document; the platform API answers each of these under one of the eight.
  "ALREADY_EXISTS",
  "IDEMPOTENCY_CONFLICT",
  "PAYLOAD_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "METHOD_NOT_ALLOWED",
  "LOGIN_THROTTLED",
  "UNAVAILABLE",
  // The gateway's own.
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
  /** Where in the request: "body.team_id", "query.page". */
  path: string;
  message: string;
}

/** The limits a call is under, and what is left of them in this minute. */
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
  /** The parameter of a gateway request that is at fault. */
  param?: string | undefined;
  retryAfterSeconds?: number | undefined;
  /** Of a rate limit that was reached. */
  rate?: RateState | undefined;
  cause?: unknown;
  /** Tried again already, as often as it is allowed: who called us need not. */
  retried?: boolean | undefined;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly internal: string | undefined;
  readonly details: readonly ErrorDetail[];
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly rate: RateState | undefined;
  readonly retried: boolean;

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
  }
}

/** Anything thrown, as an AppError; what we did not foresee is a SERVER_ERROR whose text stays in the log. */
export function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const internal = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return new AppError("SERVER_ERROR", "Something went wrong on our side.", { internal, cause: thrown });
}

/** Whether the same request can succeed later: the control plane was away, too slow or failed, and did not refuse the request. */
export function isTransient({ code }: AppError): boolean {
  return code === "UNAVAILABLE" || code === "DB_TIMEOUT" || code === "SERVER_ERROR";
}
