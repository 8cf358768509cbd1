import type { AppError, ErrorCode } from "../../../common/errors.ts";
import { beginError, type CallErrorHandler, gatewayErrorStatus } from "../../calls/gateway-error.ts";
import type { CallResponse } from "../../calls/http-exchange.ts";
import { requestIdOf } from "./request-id.ts";

interface AnthropicError {
  readonly status: number;
  readonly type: string;
}

const badRequest: AnthropicError = { status: 400, type: "invalid_request_error" };

/** Codes that have another status in Anthropic's API than in the gateway's. */
const BY_CODE: Readonly<Partial<Record<ErrorCode, AnthropicError>>> = {
  UNPROCESSABLE: badRequest,
  QUOTA_EXCEEDED: { status: 402, type: "billing_error" },
  UPSTREAM_TIMEOUT: { status: 504, type: "timeout_error" },
  UPSTREAM_UNAVAILABLE: { status: 529, type: "overloaded_error" },
};

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
};

export function anthropicErrorStatus(error: AppError): number {
  return rowOf(error).status;
}

/** The body of an error response, and of an `error` event in a stream. */
export function anthropicErrorBody(error: AppError, requestId: string) {
  return { type: "error", error: { type: rowOf(error).type, message: error.message }, request_id: requestId };
}

/** Sends an error in Anthropic's format. */
export const anthropicErrorHandler: CallErrorHandler = (thrown: unknown, _request, response, _next) => {
  const error = beginError(thrown, response);
  if (!error) return;
  setAnthropicRequestId(response);
  response.status(anthropicErrorStatus(error)).json(anthropicErrorBody(error, requestIdOf(response)));
};

/** Anthropic's clients read the request id from this header. */
export function setAnthropicRequestId(response: CallResponse): void {
  response.setHeader("request-id", requestIdOf(response));
}

function rowOf(error: AppError): AnthropicError {
  const status = gatewayErrorStatus(error);
  const known = BY_CODE[error.code];
  if (known) return known;
  return { status, type: TYPES[status] ?? (status < 500 ? badRequest.type : "api_error") };
}
