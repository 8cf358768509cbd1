import type { AppError, ErrorCode } from "../../../common/errors.ts";

/** What a failure means to routing. The names follow the classes of LiteLLM's retry and allowed-fails policies. */
export type ErrorClass =
  | "timeout"
  | "rate-limit"
  | "unavailable"
  /** The deployment itself is misconfigured: its key is refused, its model is unknown. Another deployment may work. */
  | "authentication"
  | "not-found"
  | "context-window"
  | "content-policy"
  /** The request is at fault; the same deployment would refuse it again. */
  | "bad-request"
  /** Not the upstream's: quota, a bug of the gateway, a disconnected client. Nothing else is tried. */
  | "ours";

const BY_CODE: Partial<Record<ErrorCode, ErrorClass>> = {
  UPSTREAM_TIMEOUT: "timeout",
  UPSTREAM_UNAVAILABLE: "unavailable",
  RATE_LIMIT_EXCEEDED: "rate-limit",
  MODEL_NOT_FOUND: "not-found",
  CONTEXT_LENGTH_EXCEEDED: "context-window",
  CONTENT_POLICY_VIOLATION: "content-policy",
  INVALID_REQUEST: "bad-request",
  INVALID_JSON: "bad-request",
  UNPROCESSABLE: "bad-request",
  UNSUPPORTED_PARAMETER: "bad-request",
  PAYLOAD_TOO_LARGE: "bad-request",
  UNSUPPORTED_MEDIA_TYPE: "bad-request",
};

/** The upstream's own status distinguishes what one error code combines: a refused key from a broken server. */
export function classify(error: AppError, upstreamStatus?: number): ErrorClass {
  const byCode = BY_CODE[error.code] ?? "ours";
  if (byCode !== "unavailable") return byCode;
  if (upstreamStatus === 401 || upstreamStatus === 403) return "authentication";
  return upstreamStatus === 404 ? "not-found" : "unavailable";
}

/** Failures of the deployment itself, which open its circuit. */
export function isDeploymentFault(kind: ErrorClass): boolean {
  return kind === "timeout" || kind === "unavailable" || kind === "authentication" || kind === "not-found";
}
