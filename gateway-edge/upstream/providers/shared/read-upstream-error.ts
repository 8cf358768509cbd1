import { AppError } from "../../../../common/errors.ts";
import type { UpstreamFailure } from "../provider.ts";
import { asFields } from "./json-fields.ts";
import { readErrorFields, type UpstreamErrorFields } from "./upstream-error-fields.ts";
import { readRetryAfter } from "./upstream-error-retry.ts";

/** The meaning of an upstream's error, whatever its format. */
type ErrorKind =
  | "context-window"
  | "content-policy"
  | "auth"
  | "quota"
  | "overloaded"
  | "rate-limit"
  | "timeout"
  | "not-found"
  | "too-large"
  | "bad-request"
  | "failed";

interface Rule {
  readonly kind: ErrorKind;
  readonly statuses?: readonly number[];
  /** Any of these, in lower case, as a code, type or reason. */
  readonly words?: readonly string[];
  /** Found in the lower-case message. */
  readonly phrases?: readonly (string | RegExp)[];
}

// The first matching rule wins, so texts and codes come before the status.
const RULES: readonly Rule[] = [
  {
    kind: "context-window",
    words: ["context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded"],
    phrases: [
      "context_length_exceeded",
      "maximum context length is",
      "exceed context limit",
      "model's maximum context limit",
      "is longer than the model's context length",
      "input tokens exceed the configured limit",
      "`inputs` tokens + `max_new_tokens` must be",
      "exceeds the available context size",
      "exceeds the maximum number of tokens allowed",
      /current length is .* while limit is/,
      /maximum input length is .* tokens/,
      "input too long",
      "input is too long",
      "prompt is too long",
      "too many tokens",
      "too many input tokens",
      "input tokens exceeded",
      "number of input tokens exceeds",
      "too large for model with",
      "please reduce the length of the messages",
      "maximum prompt length",
    ],
  },
  {
    kind: "content-policy",
    words: ["content_policy_violation", "responsibleaipolicyviolation", "content_filter", "data_inspection_failed", "moderation_blocked"],
    phrases: [
      "content_policy_violation",
      "responsibleaipolicyviolation",
      "content management policy",
      "rejected as a result of our safety system",
      "the model produced invalid content",
      "violates usage guidelines",
    ],
  },
  {
    kind: "quota",
    statuses: [402],
    words: ["insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "servicequotaexceededexception"],
    phrases: ["credit balance is too low", "insufficient balance", "used all available credits"],
  },
  {
    kind: "auth",
    statuses: [401, 403],
    words: [
      "api_key_invalid",
      "api_key_expired",
      "invalid_api_key",
      "authentication_error",
      "permission_error",
      "unauthenticated",
      "permission_denied",
      "unrecognizedclientexception",
      "expiredtokenexception",
      "invalidsignatureexception",
      "accessdeniedexception",
    ],
    phrases: ["incorrect api key", "invalid api key", "api key not valid"],
  },
  {
    kind: "overloaded",
    statuses: [498, 502, 503, 529],
    words: ["overloaded_error", "unavailable", "modelnotreadyexception", "serviceunavailableexception", "capacity_exceeded"],
  },
  {
    kind: "rate-limit",
    statuses: [429],
    words: ["rate_limit_error", "rate_limit_exceeded", "rate_limited", "resource_exhausted", "throttlingexception", "too_many_requests"],
  },
  { kind: "timeout", statuses: [408, 504], words: ["timeout_error", "deadline_exceeded", "modeltimeoutexception"] },
  {
    kind: "not-found",
    statuses: [404],
    words: ["not_found_error", "model_not_found", "deploymentnotfound", "not_found", "resourcenotfoundexception"],
  },
  { kind: "too-large", statuses: [413], words: ["request_too_large"] },
  {
    kind: "bad-request",
    statuses: [400, 422],
    words: ["invalid_request_error", "invalid_argument", "validationexception"],
  },
];

/** An error of any upstream as an AppError. An error of the operator's account or catalog is not the caller's, and its text stays in the log. */
export function readUpstreamError(failure: UpstreamFailure): AppError {
  const fields = readErrorFields(failure);
  const { message, param } = fields;
  const internal = `upstream ${failure.status} ${[...fields.words].join(",")}: ${message ?? "no message"}`;
  const retryAfterSeconds = readRetryAfter(failure);
  const kind = kindOf(failure.status, fields);
  switch (kind) {
    case "context-window":
      return new AppError("CONTEXT_LENGTH_EXCEEDED", message ?? "The input is longer than the model's context window.", {
        internal,
        param,
      });
    case "content-policy":
      return new AppError("CONTENT_POLICY_VIOLATION", message ?? "The provider's content policy refused the request.", { internal, param });
    case "bad-request":
      return new AppError("INVALID_REQUEST", message ?? "The provider refused the request.", {
        internal,
        param,
        upstreamCode: fields.code,
      });
    case "too-large":
      return new AppError("PAYLOAD_TOO_LARGE", message ?? "The request is too large for the provider.", { internal });
    case "rate-limit":
      return new AppError("RATE_LIMIT_EXCEEDED", "The provider is over its rate limit. Try again shortly.", {
        internal,
        retryAfterSeconds: retryAfterSeconds ?? 1,
      });
    case "timeout":
      return new AppError("UPSTREAM_TIMEOUT", "The provider did not answer in time.", { internal });
    default:
      return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot answer right now.", {
        internal: `${kind}: ${internal}`,
        retryAfterSeconds: kind === "overloaded" ? (retryAfterSeconds ?? 1) : retryAfterSeconds,
      });
  }
}

/** An error inside a stream or a 200: its status is the number in it, if there is one. */
export function readInlineError(body: unknown): AppError {
  const code = Number(asFields(asFields(body)["error"])["code"] ?? asFields(body)["code"]);
  const status = Number.isInteger(code) && code >= 400 && code <= 599 ? code : 500;
  return readUpstreamError({ status, headers: {}, body });
}

function kindOf(status: number, fields: UpstreamErrorFields): ErrorKind {
  // An error of a field that is too long (`user`) has the same text as one of a prompt that is too long.
  const rules = fields.words.has("string_above_max_length") ? RULES.filter(({ kind }) => kind !== "context-window") : RULES;
  const said = rules.find((rule) => isSaid(rule, status, fields));
  return said?.kind ?? "failed";
}

function isSaid(rule: Rule, status: number, { words, message }: UpstreamErrorFields): boolean {
  // A rate limit counts tokens too; its text must not match a context window.
  const readsText = !(rule.kind === "context-window" && [401, 403, 429].includes(status));
  const text = message?.toLowerCase() ?? "";
  return (
    (rule.statuses?.includes(status) ?? false) ||
    (rule.words?.some((word) => words.has(word)) ?? false) ||
    (readsText && (rule.phrases?.some((phrase) => (typeof phrase === "string" ? text.includes(phrase) : phrase.test(text))) ?? false))
  );
}
