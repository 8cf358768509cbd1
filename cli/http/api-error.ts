import { CliError } from "../cli-error.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";

/** An API error in either format: the platform's {error, code} or the gateway's {error: {message, code}}. */
export function apiError(answer: { status: number; headers: Headers; body: unknown; text: string; hint?: string | undefined }): CliError {
  const { status, headers } = answer;
  const fields = (isObject(answer.body) ? answer.body : {}) as Record<string, unknown>;
  const inner = isObject(fields["error"]) ? fields["error"] : undefined;
  const message = textOf(inner?.["message"]) ?? textOf(fields["error"]) ?? (answer.text.trim().slice(0, 300) || `HTTP ${status}`);
  const code = textOf(inner?.["code"]) ?? textOf(inner?.["type"]) ?? textOf(fields["code"]);
  return new CliError(exitCodeOf({ status, code }), {
    error: message,
    code: code ?? `HTTP_${status}`,
    status,
    requestId: headers.get("x-request-id") ?? undefined,
    retryable: isRetryable(status, headers),
    details: fields["details"] ?? fields["detail"],
    hint: answer.hint ?? (isAboutOtp(fields["details"]) ? undefined : hintFor(status, code)),
  });
}

/** Whether a two-factor code is missing or wrong; the error itself says what to do. */
export function isAboutOtp(details: unknown): boolean {
  return Array.isArray(details) && details.some((detail) => isObject(detail) && detail["path"] === "otp");
}

export function networkError(url: string, cause: unknown): CliError {
  const { name, message, cause: deeper } = cause as { name?: string; message?: string; cause?: { code?: string; message?: string } };
  if (name === "TimeoutError") {
    return new CliError(EXIT.server, {
      error: `${url} timed out.`,
      code: "TIMEOUT",
      retryable: true,
      hint: "Use --timeout to wait longer.",
    });
  }
  const reason = deeper?.code ?? deeper?.message ?? message ?? "unknown";
  return new CliError(EXIT.server, {
    error: `${url} cannot be reached (${reason}).`,
    code: "NETWORK",
    retryable: true,
    hint: "Is the server running? Start it with `make run`, or set another URL with --api-url, GW_API_URL or `gw config set api-url`.",
  });
}

function hintFor(status: number, code: string | undefined): string | undefined {
  if (code === "TEAM_BLOCKED" || code === "QUOTA_EXCEEDED")
    return "Add credits with `gw credits buy --usd 5`; check the balance with `gw quota`.";
  if (status === 401) return "Log in with `gw auth login`.";
  return undefined;
}

function isRetryable(status: number, headers: Headers): boolean {
  if (headers.get("x-should-retry") === "false") return false;
  return status === 408 || status === 429 || status >= 500;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
