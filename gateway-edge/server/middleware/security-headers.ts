import type { RequestHandler } from "express";
import { CREDENTIAL_HEADERS } from "../../../common/credential-headers.ts";
import type { CallRequest, CallResponse } from "../../calls/http-exchange.ts";

const CONTENT_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const ALLOWED_HEADERS = ["content-type", "idempotency-key", "x-request-id", ...CREDENTIAL_HEADERS].join(", ");
const EXPOSED_HEADERS = [
  ...["x-request-id", "request-id", "x-gw-call-id", "idempotent-replayed", "retry-after", "x-should-retry", "content-disposition"],
  ...["limit", "remaining", "reset"].flatMap((what) => [`x-ratelimit-${what}-requests`, `x-ratelimit-${what}-tokens`]),
  ...["model-id", "model-group", "response-cost", "cost-nano", "cache-key", "semantic-similarity"].map((name) => `x-gw-${name}`),
  ...["attempted-retries", "attempted-fallbacks", "overhead-duration-ms"].map((name) => `x-gw-${name}`),
].join(", ");
const HEADER_NAMES = /^[a-z0-9-]+( *, *[a-z0-9-]+)*$/i;

/** Security headers of every response except inference. A page that needs more sets its own policy later. */
export const securityHeaders: RequestHandler = (request, response, next) => {
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("x-frame-options", "DENY");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-resource-policy", "same-origin");
  response.setHeader("content-security-policy", CONTENT_POLICY);
  if (request.secure) response.setHeader("strict-transport-security", "max-age=31536000; includeSubDomains");
  next();
};

/** Responses may contain balances, tokens and keys. */
export const noStore: RequestHandler = (_request, response, next) => {
  response.setHeader("cache-control", "no-store");
  next();
};

/** CORS for the listed origins. Not mounted if the list is empty. */
export function crossOrigin(origins: readonly string[]): (request: CallRequest, response: CallResponse, next: () => void) => void {
  const allowed = new Set(origins);
  return (request, response, next) => {
    response.vary("origin");
    const origin = request.headers.origin;
    if (origin === undefined || !allowed.has(origin)) return next();
    response.setHeader("access-control-allow-origin", origin);
    response.setHeader("access-control-expose-headers", EXPOSED_HEADERS);
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return next();
    response.setHeader("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE");
    // Official clients send a dozen headers of their own, which change with their versions.
    const asked = String(request.headers["access-control-request-headers"] ?? "");
    response.setHeader("access-control-allow-headers", HEADER_NAMES.test(asked) ? asked : ALLOWED_HEADERS);
    response.vary("access-control-request-headers");
    response.setHeader("access-control-max-age", "600");
    response.status(204).end();
  };
}
