import { redactCredentials } from "./log-redaction.ts";
import { createLogger } from "./logger.ts";

const SECRETS = {
  "our API key": "sk-gw-8f2b1c0d9e7a6f5b4c3d2e1f",
  "an OpenAI key": "sk-proj-Abc123_def456-ghi789",
  "an Anthropic key": "sk-ant-api03-AAAAbbbbCCCCdddd",
  "a Groq key": "gsk_abcdef0123456789ABCDEF",
  "a Hugging Face token": "hf_abcdefGHIJKL0123",
  "a Google key": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
  "a Google token": "ya29.a0AfH6SMBx-abc",
  "an AWS key id": "AKIAIOSFODNN7EXAMPLE",
  "a GitHub token": "ghp_abcdefghij0123456789",
  "an xAI key": "xai-abcdef0123456789",
  "a Stripe key": "sk_live_51Habcdefghijk",
  "a signing secret": "whsec_abcdefghijk123",
  "a JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
};

/** One line of a logger, as text. */
function lineOf(fields: object, message: string): string {
  const lines: string[] = [];
  createLogger("test", "debug", { write: (line: string) => void lines.push(line) }).info(fields, message);
  return lines.join("");
}

test.each(Object.entries(SECRETS))("%s is not written, wherever it stands in a line", (_name, secret) => {
  const fields = { error: `the provider said: Incorrect API key provided: ${secret}.`, deep: { list: [{ text: `x ${secret} y` }] } };
  const line = lineOf(fields, `failed with ${secret}`);
  expect(line).not.toContain(secret);
  expect(JSON.parse(line)).toMatchObject({
    error: "the provider said: Incorrect API key provided: [redacted].",
    msg: "failed with [redacted]",
  });
});

test.each([
  ["a header", { headers: { authorization: "Bearer opaque-value-1", Authorization: "Basic b3BhcXVlOnZhbHVl" } }],
  ["a header in a text", { error: "sent Authorization: Bearer opaque-value-1 and got 401" }],
  ["lower case", { error: "bearer opaque-value-1" }],
  ["a field far down", { a: { b: { c: { apiKey: 'opaque-"value-1' } } } }],
  ["a header of ours", { headers: { "x-gw-api-key": "opaque-value-1", "x-api-key": "opaque-value-1", cookie: "session=opaque-value-1" } }],
  ["a token", { grant: { token: "opaque-value-1", refresh_token: "opaque-value-1", refreshToken: "opaque-value-1" } }],
  ["the query of a URL", { url: "https://example.org/v1?key=opaque-value-1&alt=sse" }],
  ["a signed URL", { url: "https://s3.example.org/x?X-Amz-Signature=opaque-value-1&X-Amz-Date=1" }],
  ["a link with a token", { error: "GET /reset?token=opaque-value-1 failed" }],
  ["the user of a URL", { url: "redis://user:opaque-value-1@cache.example.org:6379/0" }],
])("a secret of no known form is not written: %s", (_place, fields) => {
  const line = lineOf(fields, "x");
  expect(line).not.toMatch(/opaque|b3BhcXVl/);
  expect(line).toContain("[redacted]");
  expect(() => JSON.parse(line)).not.toThrow();
});

test("what is no secret stays: ids, counts, masked keys, hosts and levels by name", () => {
  const fields = {
    callId: "call_01jabcdefgh",
    requestId: "req_1",
    keyId: "key_01jabcdefgh",
    maskedKey: "sk-…abcd",
    tokens: 5,
    inputTokens: 7,
    url: "https://api.example.org/v1?alt=sse",
    task: "task-risk-assessment-of-something",
  };
  expect(JSON.parse(lineOf(fields, "basic facts"))).toMatchObject({ ...fields, level: "info", service: "test", msg: "basic facts" });
});

test("the mailer's logger shows links, which an operator without a mail server needs, and no other secret", () => {
  const mail = "Open https://example.org/reset?token=one-time-1 (Bearer opaque-value-1)";
  expect(redactCredentials(mail)).toBe("Open https://example.org/reset?token=one-time-1 (Bearer [redacted])");
});
