import type { ErrorRequestHandler, RequestHandler, Response } from "express";
import type { z } from "zod";
import { AppError, asAppError, type ErrorCode } from "../../../common/errors.ts";
import { toJson } from "../../../common/json.ts";
import type { Logger } from "../../../common/logger.ts";
import { setHeaders } from "../../calls/header-list.ts";
import { rateHeaders } from "../../calls/rate-headers.ts";
import type { errorRecord } from "../../schemas/records.ts";
import { requestIdOf } from "./request-id.ts";

type PlatformErrorBody = z.infer<typeof errorRecord>;

interface PlatformError {
  code: PlatformErrorBody["code"];
  status: number;
}

/** Maps every error code to a platform API code and a status. A new code does not compile until it is here. */
export const PLATFORM_ERRORS: Readonly<Record<ErrorCode, PlatformError>> = {
  UNAUTHORIZED: { code: "UNAUTHORIZED", status: 401 },
  FORBIDDEN: { code: "FORBIDDEN", status: 403 },
  VALIDATION_ERROR: { code: "VALIDATION_ERROR", status: 400 },
  NOT_FOUND: { code: "NOT_FOUND", status: 404 },
  QUOTA_EXCEEDED: { code: "QUOTA_EXCEEDED", status: 402 },
  TEAM_BLOCKED: { code: "TEAM_BLOCKED", status: 403 },
  SERVER_ERROR: { code: "SERVER_ERROR", status: 500 },
  DB_TIMEOUT: { code: "DB_TIMEOUT", status: 504 },
  ALREADY_EXISTS: { code: "VALIDATION_ERROR", status: 409 },
  IDEMPOTENCY_CONFLICT: { code: "VALIDATION_ERROR", status: 409 },
  RECORD_CHANGED: { code: "VALIDATION_ERROR", status: 409 },
  PAYLOAD_TOO_LARGE: { code: "VALIDATION_ERROR", status: 413 },
  UNSUPPORTED_MEDIA_TYPE: { code: "VALIDATION_ERROR", status: 415 },
  METHOD_NOT_ALLOWED: { code: "VALIDATION_ERROR", status: 405 },
  LOGIN_THROTTLED: { code: "UNAUTHORIZED", status: 429 },
  UNAVAILABLE: { code: "DB_TIMEOUT", status: 504 },
  INVALID_API_KEY: { code: "UNAUTHORIZED", status: 401 },
  INVALID_JSON: { code: "VALIDATION_ERROR", status: 400 },
  INVALID_REQUEST: { code: "VALIDATION_ERROR", status: 400 },
  UNPROCESSABLE: { code: "VALIDATION_ERROR", status: 400 },
  UNSUPPORTED_PARAMETER: { code: "VALIDATION_ERROR", status: 400 },
  MODEL_NOT_FOUND: { code: "NOT_FOUND", status: 404 },
  MODEL_NOT_ALLOWED: { code: "FORBIDDEN", status: 403 },
  CONTEXT_LENGTH_EXCEEDED: { code: "VALIDATION_ERROR", status: 400 },
  CONTENT_POLICY_VIOLATION: { code: "VALIDATION_ERROR", status: 400 },
  RATE_LIMIT_EXCEEDED: { code: "QUOTA_EXCEEDED", status: 429 },
  JSON_SCHEMA_VALIDATION: { code: "SERVER_ERROR", status: 500 },
  UPSTREAM_TIMEOUT: { code: "SERVER_ERROR", status: 504 },
  UPSTREAM_UNAVAILABLE: { code: "SERVER_ERROR", status: 503 },
};

export function platformErrorStatus(error: AppError): number {
  return PLATFORM_ERRORS[error.code].status;
}

export function platformErrorBody(error: AppError, requestId: string): PlatformErrorBody {
  const details = error.details.map(({ path, message }) => ({ path, message }));
  return { error: error.message, code: PLATFORM_ERRORS[error.code].code, ...(details.length > 0 ? { details } : {}), requestId };
}

/** Sends errors of /api and /training. `internal` is only logged. */
export function platformErrorHandler(logger: Logger): ErrorRequestHandler {
  return (thrown: unknown, _request, response, _next) => {
    const error = asAppError(thrown);
    const requestId = requestIdOf(response);
    // The caller disconnected or the response has started: no error can be sent.
    if (response.destroyed || response.headersSent) {
      response.destroy();
      logger.debug(
        { requestId, code: error.code, internal: error.internal },
        "the caller disconnected, or a response failed after it started",
      );
      return;
    }
    const status = platformErrorStatus(error);
    if (status >= 500) logger.error({ requestId, status, code: error.code, internal: error.internal ?? causeOf(error) }, error.message);
    sendPlatformError(response, error);
  };
}

function sendPlatformError(response: Response, error: AppError): void {
  const status = platformErrorStatus(error);
  if (status === 401) response.setHeader("www-authenticate", "Bearer");
  const retryAfterSeconds = error.retryAfterSeconds ?? (status === 504 || status === 429 ? 1 : undefined);
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  setHeaders(response, rateHeaders(error.rate));
  // The rest of a body that is too large is not read.
  if (status === 413) response.setHeader("connection", "close");
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.status(status).end(toJson(platformErrorBody(error, requestIdOf(response))));
}

export const platformNotFound: RequestHandler = (request) => {
  throw new AppError("NOT_FOUND", `There is no operation ${request.method} ${request.baseUrl}${request.path.slice(0, 200)}.`);
};

/** Turns express' error for a path that cannot be decoded into a 400. */
export const explainBadPath: ErrorRequestHandler = (thrown: unknown, _request, _response, next) => {
  const isBadPath = thrown instanceof Error && !(thrown instanceof AppError) && (thrown as Error & { status?: unknown }).status === 400;
  next(isBadPath ? new AppError("INVALID_REQUEST", "The path of the request is not valid.", { cause: thrown }) : thrown);
};

function causeOf(error: AppError): string | undefined {
  return error.cause instanceof Error ? error.cause.message : undefined;
}
