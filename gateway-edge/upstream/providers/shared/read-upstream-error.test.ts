import { gatewayErrorBody } from "../../../calls/gateway-error.ts";
import { readInlineError, readUpstreamError } from "./read-upstream-error.ts";

type Row = readonly [
  name: string,
  status: number,
  body: unknown,
  code: string,
  headers?: Record<string, string>,
  retryAfterSeconds?: number,
];

// The dialects of OpenAI, Azure, Mistral, Ollama and their like are in the fixtures of their own tests.
const rows: readonly Row[] = [
  [
    "Anthropic, prompt",
    400,
    anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "CONTEXT_LENGTH_EXCEEDED",
  ],
  [
    "Anthropic, limit",
    400,
    anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 2"),
    "CONTEXT_LENGTH_EXCEEDED",
  ],
  [
    "Anthropic, money",
    400,
    anthropic("invalid_request_error", "Your credit balance is too low to access the API."),
    "UPSTREAM_UNAVAILABLE",
  ],
  ["Anthropic, overloaded", 529, anthropic("overloaded_error", "Overloaded"), "UPSTREAM_UNAVAILABLE", {}, 1],
  [
    "Anthropic, rate",
    429,
    anthropic("rate_limit_error", "This request would exceed the rate limit"),
    "RATE_LIMIT_EXCEEDED",
    { "retry-after": "41" },
    41,
  ],
  [
    "Anthropic, reset as a date",
    429,
    anthropic("rate_limit_error", "x"),
    "RATE_LIMIT_EXCEEDED",
    { date: "Tue, 04 Aug 2026 10:00:00 GMT", "anthropic-ratelimit-tokens-reset": "2026-08-04T10:00:12Z" },
    12,
  ],
  ["Anthropic, size", 413, anthropic("request_too_large", "Request exceeds the maximum size"), "PAYLOAD_TOO_LARGE"],
  ["Anthropic, key", 401, anthropic("authentication_error", "invalid x-api-key"), "UPSTREAM_UNAVAILABLE"],
  ["Anthropic, time", 504, anthropic("timeout_error", "x"), "UPSTREAM_TIMEOUT"],
  ["Gemini, key", 400, google("INVALID_ARGUMENT", "API key not valid.", [{ reason: "API_KEY_INVALID" }]), "UPSTREAM_UNAVAILABLE"],
  [
    "Gemini, rate",
    429,
    google("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", [{ retryDelay: "23s" }]),
    "RATE_LIMIT_EXCEEDED",
    {},
    23,
  ],
  [
    "Gemini, prompt",
    400,
    google("INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
    "CONTEXT_LENGTH_EXCEEDED",
  ],
  ["Gemini, in a list", 400, [google("INVALID_ARGUMENT", 'Unknown name "x"')], "INVALID_REQUEST"],
  ["Gemini, down", 503, google("UNAVAILABLE", "The model is overloaded."), "UPSTREAM_UNAVAILABLE", {}, 1],
  ["Gemini, time", 504, google("DEADLINE_EXCEEDED", "x"), "UPSTREAM_TIMEOUT"],
  [
    "Bedrock, rate",
    429,
    { message: "Too many requests" },
    "RATE_LIMIT_EXCEEDED",
    { "x-amzn-ErrorType": "ThrottlingException:http://aws/" },
    1,
  ],
  ["Bedrock, loading", 429, { message: "x" }, "UPSTREAM_UNAVAILABLE", { "x-amzn-errortype": "ModelNotReadyException" }],
  ["Bedrock, quota", 400, { message: "x" }, "UPSTREAM_UNAVAILABLE", { "x-amzn-errortype": "ServiceQuotaExceededException" }],
  [
    "Bedrock, token",
    403,
    { message: "The security token included in the request is expired" },
    "UPSTREAM_UNAVAILABLE",
    { "x-amzn-errortype": "ExpiredTokenException" },
  ],
  [
    "Bedrock, prompt",
    400,
    { message: "Input is too long for requested model." },
    "CONTEXT_LENGTH_EXCEEDED",
    { "x-amzn-errortype": "ValidationException" },
  ],
  ["Bedrock, time", 408, { message: "x" }, "UPSTREAM_TIMEOUT", { "x-amzn-errortype": "ModelTimeoutException" }],
  ["Cohere, prompt", 400, { id: "1", message: "too many tokens: size limit exceeded by 8" }, "CONTEXT_LENGTH_EXCEEDED"],
  ["Cohere, bad", 422, { message: "invalid role" }, "INVALID_REQUEST"],
  [
    "Bedrock, Titan's prompt",
    400,
    { message: "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9001 " },
    "CONTEXT_LENGTH_EXCEEDED",
  ],
  [
    "Bedrock, Nova's prompt",
    400,
    { message: "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length." },
    "CONTEXT_LENGTH_EXCEEDED",
  ],
  ["words about tokens in a rate limit", 429, { message: "too many tokens per minute" }, "RATE_LIMIT_EXCEEDED"],
];

test.each(rows.map((row) => [row[0], row] as const))("%s", (_name, [, status, body, code, headers = {}, retryAfterSeconds]) => {
  const error = readUpstreamError({ status, headers, body });
  expect(error.code).toBe(code);
  if (retryAfterSeconds !== undefined) expect(error.retryAfterSeconds).toBe(retryAfterSeconds);
});

test("the operator's account does not reach a caller", () => {
  const secrets = [
    "sk-proj-abcdefgh12345678",
    "org-AbCdEf123456",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/x",
    "projects/our-project-7",
    "ops@example.com",
    "our-resource.openai.azure.com",
    "AIzaSyA1234567890abcdef",
    "123456789012",
  ];
  for (const secret of secrets) {
    const { message } = readUpstreamError({ status: 400, headers: {}, body: { error: { message: `Bad thing with ${secret} here.` } } });
    expect(message).toBe("Bad thing with [hidden] here.");
  }
});

test("the parameter at fault is named, wherever the upstream says it", () => {
  const paramOf = (body: unknown) => readUpstreamError({ status: 422, headers: {}, body }).param;
  expect(paramOf({ error: { message: "x", param: "top_p" } })).toBe("top_p");
  expect(paramOf({ detail: [{ loc: ["body", "messages", 0], msg: "x" }] })).toBe("messages.0");
});

test("the code of a bad request in OpenAI's format reaches the client, which may repeat it without the parameter", () => {
  const codeOf = (body: unknown, status = 400) => gatewayErrorBody(readUpstreamError({ status, headers: {}, body })).error.code;
  expect(codeOf({ error: { message: "x", type: "invalid_request_error", param: "temperature", code: "unsupported_value" } })).toBe(
    "unsupported_value",
  );
  // The gateway's own words win, and numbers and names of other formats are no such code.
  expect(codeOf({ error: { message: "x", code: "content_filter" } })).toBe("content_policy_violation");
  for (const code of [400, "400", "BadRequest", "", null, "a b", "x".repeat(65)])
    expect(codeOf({ error: { message: "x", code } })).toBeNull();
  expect(codeOf({ error: { message: "x", code: "server_hiccup" } }, 500)).toBe("upstream_unavailable");
});

test("an error inside a stream has the status it names, and is ours otherwise", () => {
  expect(readInlineError({ error: { code: 429, message: "x" } }).code).toBe("RATE_LIMIT_EXCEEDED");
  expect(readInlineError(anthropic("overloaded_error", "Overloaded")).code).toBe("UPSTREAM_UNAVAILABLE");
  expect(readInlineError(anthropic("invalid_request_error", "Bad.")).code).toBe("INVALID_REQUEST");
  expect(readInlineError({ error: "boom" }).code).toBe("UPSTREAM_UNAVAILABLE");
});

test("a wait is whole seconds from 1 to an hour; dates need the upstream's own clock", () => {
  const wait = (headers: Record<string, string>) => readUpstreamError({ status: 429, headers, body: {} }).retryAfterSeconds;
  expect(wait({ "retry-after": "0" })).toBe(1);
  expect(wait({ "retry-after": "86400" })).toBe(3600);
  expect(wait({ "retry-after": "Tue, 04 Aug 2026 10:00:30 GMT", date: "Tue, 04 Aug 2026 10:00:00 GMT" })).toBe(30);
  expect(wait({ "retry-after": "Tue, 04 Aug 2026 10:00:30 GMT" })).toBe(1);
  expect(wait({ "x-ratelimit-reset-requests": "1m30s" })).toBe(90);
  expect(wait({ "x-ratelimit-reset": "1785837612000" })).toBe(1);
});

function anthropic(type: string, message: string) {
  return { type: "error", error: { type, message }, request_id: "req_1" };
}

function google(status: string, message: string, details: readonly object[] = []) {
  return { error: { code: 400, message, status, details } };
}
