import { Metadata, type ServiceError, status as Status, type StatusObject } from "@grpc/grpc-js";
import { ErrorInfo, type ErrorCode as WireCode } from "../../proto/gen/tributary/errors/v1/errors.ts";
import { AppError, ERROR_CODES, type ErrorCode } from "../errors.ts";

/** The binary trailing metadata that contains the coded error. */
const ERROR_KEY = "tributary-error-bin";

// The gRPC status is for generic gRPC tools; our clients read the error code. A new code does not compile until it is here.
const STATUS: Readonly<Record<ErrorCode, Status>> = {
  UNAUTHORIZED: Status.UNAUTHENTICATED,
  FORBIDDEN: Status.PERMISSION_DENIED,
  VALIDATION_ERROR: Status.INVALID_ARGUMENT,
  NOT_FOUND: Status.NOT_FOUND,
  QUOTA_EXCEEDED: Status.RESOURCE_EXHAUSTED,
  TEAM_BLOCKED: Status.PERMISSION_DENIED,
  SERVER_ERROR: Status.INTERNAL,
  DB_TIMEOUT: Status.DEADLINE_EXCEEDED,
  ALREADY_EXISTS: Status.ALREADY_EXISTS,
  IDEMPOTENCY_CONFLICT: Status.ABORTED,
  RECORD_CHANGED: Status.ABORTED,
  PAYLOAD_TOO_LARGE: Status.INVALID_ARGUMENT,
  UNSUPPORTED_MEDIA_TYPE: Status.INVALID_ARGUMENT,
  METHOD_NOT_ALLOWED: Status.INVALID_ARGUMENT,
  LOGIN_THROTTLED: Status.RESOURCE_EXHAUSTED,
  UNAVAILABLE: Status.UNAVAILABLE,
  INVALID_API_KEY: Status.UNAUTHENTICATED,
  INVALID_JSON: Status.INVALID_ARGUMENT,
  INVALID_REQUEST: Status.INVALID_ARGUMENT,
  UNPROCESSABLE: Status.INVALID_ARGUMENT,
  UNSUPPORTED_PARAMETER: Status.INVALID_ARGUMENT,
  MODEL_NOT_FOUND: Status.NOT_FOUND,
  MODEL_NOT_ALLOWED: Status.PERMISSION_DENIED,
  CONTEXT_LENGTH_EXCEEDED: Status.INVALID_ARGUMENT,
  CONTENT_POLICY_VIOLATION: Status.INVALID_ARGUMENT,
  RATE_LIMIT_EXCEEDED: Status.RESOURCE_EXHAUSTED,
  JSON_SCHEMA_VALIDATION: Status.INTERNAL,
  UPSTREAM_TIMEOUT: Status.DEADLINE_EXCEEDED,
  UPSTREAM_UNAVAILABLE: Status.UNAVAILABLE,
};

/** Converts an AppError to the status that grpc-js sends, without the internal text. */
export function toGrpcStatus(error: AppError): Partial<StatusObject> {
  const metadata = new Metadata();
  metadata.set(ERROR_KEY, Buffer.from(ErrorInfo.encode(toErrorInfo(error)).finish()));
  return { code: STATUS[error.code], details: error.message, metadata };
}

/**
 * The status of a call that another process must not make. It has no coded error: the edge's users did nothing wrong, so for them the
 * control plane cannot be reached.
 */
export function toRefusal(error: AppError): Partial<StatusObject> {
  return { code: STATUS[error.code], details: error.message };
}

/** The public part of an error, for messages. */
export function toErrorInfo(error: AppError): ErrorInfo {
  return {
    code: toWireCode(error.code),
    message: error.message,
    violations: error.details.map((detail) => ({ ...detail })),
    param: error.param,
    retryAfterSeconds: error.retryAfterSeconds,
    rate: error.rate,
  };
}

export function fromErrorInfo(info: ErrorInfo, cause?: unknown): AppError {
  return new AppError(fromWireCode(info.code), info.message, {
    details: info.violations,
    param: info.param,
    retryAfterSeconds: info.retryAfterSeconds,
    rate: info.rate,
    cause,
  });
}

/** Converts the error of a call to an AppError. An error without a code comes from the connection: unavailable, or deadline exceeded. */
export function fromGrpcError(error: ServiceError): AppError {
  const coded = error.metadata?.get(ERROR_KEY)[0];
  if (coded instanceof Buffer) {
    return fromErrorInfo(ErrorInfo.decode(coded), error);
  }
  const internal = `grpc ${error.code}: ${error.details}`;
  switch (error.code) {
    case Status.DEADLINE_EXCEEDED:
      return new AppError("DB_TIMEOUT", "The control plane timed out. Try again.", {
        internal,
        retryAfterSeconds: 1,
        cause: error,
      });
    // Refused before it was handled, see toRefusal.
    case Status.UNAUTHENTICATED:
    case Status.PERMISSION_DENIED:
    case Status.UNAVAILABLE:
    case Status.CANCELLED:
      return new AppError("UNAVAILABLE", "The control plane cannot be reached right now. Try again shortly.", {
        internal,
        retryAfterSeconds: 1,
        cause: error,
      });
    case Status.RESOURCE_EXHAUSTED:
      return new AppError("PAYLOAD_TOO_LARGE", "The request is too large for the control plane.", { internal, cause: error });
    default:
      return new AppError("SERVER_ERROR", "Something went wrong on our side.", { internal, cause: error });
  }
}

function toWireCode(code: ErrorCode): WireCode {
  // The wire code is 1 + index; a test compares the two lists name by name.
  return (ERROR_CODES.indexOf(code) + 1) as WireCode;
}

function fromWireCode(code: WireCode): ErrorCode {
  return ERROR_CODES[code - 1] ?? "SERVER_ERROR";
}
