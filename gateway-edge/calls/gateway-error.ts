import type { RequestHandler } from "express";
import { AppError, asAppError, type ErrorCode } from "../../common/errors.ts";
import { FIELD_REQUIRED } from "../schemas/request-body.ts";
import { setHeaders } from "./header-list.ts";
import type { CallRequest, CallResponse } from "./http-exchange.ts";
import { rateHeaders } from "./rate-headers.ts";

interface GatewayError {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  /** Sent as x-should-retry: the official clients follow it instead of the status. */
  readonly shouldRetry?: false | "unless retried";
}

const badRequest = (code: string | null): GatewayError => ({ status: 400, type: "invalid_request_error", code });
const unavailable = (code: string | null): GatewayError => ({
  status: 503,
  type: "api_connection_error",
  code,
  shouldRetry: "unless retried",
});

/** How each error code looks to a client of the gateway. Total: a new code does not compile without a row. */
const TABLE: Readonly<Record<ErrorCode, GatewayError>> = {
  UNAUTHORIZED: { status: 401, type: "authentication_error", code: "invalid_api_key" },
  INVALID_API_KEY: { status: 401, type: "authentication_error", code: "invalid_api_key" },
  LOGIN_THROTTLED: { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded" },
  FORBIDDEN: { status: 403, type: "permission_denied_error", code: "forbidden", shouldRetry: false },
  TEAM_BLOCKED: { status: 403, type: "permission_denied_error", code: "TEAM_BLOCKED", shouldRetry: false },
  MODEL_NOT_ALLOWED: { status: 403, type: "permission_denied_error", code: "model_not_allowed", shouldRetry: false },
  NOT_FOUND: { status: 404, type: "not_found_error", code: null },
  MODEL_NOT_FOUND: { status: 404, type: "not_found_error", code: "model_not_found" },
  METHOD_NOT_ALLOWED: { status: 405, type: "invalid_request_error", code: "method_not_allowed" },
  ALREADY_EXISTS: { status: 409, type: "invalid_request_error", code: "already_exists", shouldRetry: false },
  // Clients retry a 409 by themselves, which helps while the first call is still running and does little harm otherwise.
  IDEMPOTENCY_CONFLICT: { status: 409, type: "invalid_request_error", code: "idempotency_conflict" },
  RECORD_CHANGED: { status: 409, type: "invalid_request_error", code: "conflict" },
  PAYLOAD_TOO_LARGE: { status: 413, type: "invalid_request_error", code: "request_too_large" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, type: "invalid_request_error", code: "unsupported_media_type" },
  VALIDATION_ERROR: badRequest(null),
  INVALID_JSON: badRequest("invalid_json"),
  INVALID_REQUEST: badRequest(null),
  UNSUPPORTED_PARAMETER: badRequest("unsupported_parameter"),
  CONTEXT_LENGTH_EXCEEDED: badRequest("context_length_exceeded"),
  CONTENT_POLICY_VIOLATION: { status: 400, type: "content_policy_violation_error", code: "content_policy_violation" },
  UNPROCESSABLE: { status: 422, type: "unprocessable_entity_error", code: null },
  QUOTA_EXCEEDED: { status: 429, type: "insufficient_quota", code: "QUOTA_EXCEEDED", shouldRetry: false },
  RATE_LIMIT_EXCEEDED: { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded" },
  UPSTREAM_TIMEOUT: { status: 408, type: "timeout_error", code: "timeout", shouldRetry: "unless retried" },
  UPSTREAM_UNAVAILABLE: unavailable("upstream_unavailable"),
  UNAVAILABLE: unavailable("service_unavailable"),
  DB_TIMEOUT: unavailable("service_unavailable"),
  JSON_SCHEMA_VALIDATION: { status: 500, type: "json_schema_validation_error", code: null, shouldRetry: false },
  SERVER_ERROR: { status: 500, type: "server_error", code: "internal_error" },
};

export interface GatewayErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
  detail?: { loc: (string | number)[]; msg: string; type: string }[];
}

export function gatewayErrorStatus(error: AppError): number {
  return TABLE[error.code].status;
}

/** The body of an error response, and of an error frame within a stream. */
export function gatewayErrorBody(error: AppError): GatewayErrorBody {
  const { type, code } = TABLE[error.code];
  const { param = null, upstreamCode = null } = error;
  const body: GatewayErrorBody = { error: { message: messageOf(error), type, param, code: code ?? upstreamCode } };
  // Two families of clients read validation errors in two shapes; one object holds both.
  const hasBothShapes = error.code === "UNPROCESSABLE" || (error.code === "VALIDATION_ERROR" && error.details.length > 0);
  if (hasBothShapes) body.detail = error.details.map(toValidationDetail);
  return body;
}

/** Clients such as LiteLLM's recognize a content refusal by this sentence, whatever the type and the code say. */
const SAFETY_SENTENCE = "The request was rejected as a result of the safety system.";

function messageOf({ code, message }: AppError): string {
  const isSaid = code !== "CONTENT_POLICY_VIOLATION" || message.toLowerCase().includes(SAFETY_SENTENCE.toLowerCase());
  return isSaid ? message : `${message} ${SAFETY_SENTENCE}`;
}

/** A thrown value as an AppError; a path that express cannot decode is the caller's mistake. */
export function gatewayErrorOf(thrown: unknown): AppError {
  const isBadPath = thrown instanceof Error && (thrown as Error & { status?: unknown }).status === 400;
  return isBadPath ? new AppError("INVALID_REQUEST", "The path is not valid.", { cause: thrown }) : asAppError(thrown);
}

/** Handles an error of a call; express takes it, too. */
export type CallErrorHandler = (thrown: unknown, request: CallRequest, response: CallResponse, next: (error?: unknown) => void) => void;

/** Ends a request with an error in the gateway's format. After the first byte no error can be sent: the socket is closed. */
export const gatewayErrorHandler: CallErrorHandler = (thrown: unknown, _request, response, _next) => {
  const error = beginError(thrown, response);
  if (error) response.status(gatewayErrorStatus(error)).json(gatewayErrorBody(error));
};

/** Sets status and headers of an error response in any API; undefined: bytes were already sent. */
export function beginError(thrown: unknown, response: CallResponse): AppError | undefined {
  if (response.headersSent) {
    response.destroy();
    return undefined;
  }
  const error = gatewayErrorOf(thrown);
  response.locals["error"] = error;
  setErrorHeaders(response, error);
  return error;
}

export const gatewayNotFound: RequestHandler = (request, _response, next) => {
  next(new AppError("NOT_FOUND", `Unknown URL: ${request.method} ${request.path.slice(0, 200)}`));
};

/** Error headers that clients of every API read. */
function setErrorHeaders(response: CallResponse, error: AppError): void {
  const { status } = TABLE[error.code];
  if (!mayRetry(error)) response.setHeader("x-should-retry", "false");
  if (error.retryAfterSeconds !== undefined) response.setHeader("retry-after", String(Math.max(1, Math.ceil(error.retryAfterSeconds))));
  setHeaders(response, rateHeaders(error.rate));
  if (status === 401) response.setHeader("www-authenticate", 'Bearer realm="gateway"');
  // The rest of an oversized body is not read.
  if (status === 413) response.setHeader("connection", "close");
  // Refused before there was a call: the request's own id is used.
  const requestId = response.getHeader("x-request-id");
  if (!response.hasHeader("x-gw-call-id") && requestId !== undefined) response.setHeader("x-gw-call-id", requestId);
}

/** Some official clients sleep for any retry-after, others ignore a long one and retry at once: neither helps. */
const RETRY_AFTER_SECONDS_MAX = 60;

function mayRetry({ code, retried, retryAfterSeconds = 0 }: AppError): boolean {
  const { shouldRetry } = TABLE[code];
  if (shouldRetry === false || retryAfterSeconds > RETRY_AFTER_SECONDS_MAX) return false;
  // The gateway has used up its retries; retries of the client would only multiply them.
  return !(shouldRetry === "unless retried" && retried);
}

function toValidationDetail({ path, message }: { path: string; message: string }) {
  return {
    loc: path.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
    msg: message,
    type: message === FIELD_REQUIRED ? "missing" : "value_error",
  };
}
