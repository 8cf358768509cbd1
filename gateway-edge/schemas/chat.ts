import { z } from "zod";
import { AppError, type ErrorDetail } from "../../common/errors.ts";

/** The message of a detail that only says that something is missing. */
export const FIELD_REQUIRED = "Field required";

const MESSAGES_MAX = 2048;

// An explicit null means absent, everywhere: official clients send both.
const text = z.string();
const flag = z.boolean().nullish();
const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.number().refine(Number.isInteger, "must be a whole number").min(min).max(max).nullish();
const numberWithin = (min: number, max: number) => z.number().min(min).max(max).nullish();
const anyObject = z.looseObject({});
const either = (expectation: string) => ({ error: () => expectation });

const textPart = z.looseObject({ type: z.literal("text"), text });
const userPart = z.discriminatedUnion("type", [
  textPart,
  z.looseObject({ type: z.literal("image_url"), image_url: z.union([text, z.looseObject({ url: text })]) }),
  z.looseObject({ type: z.literal("input_audio"), input_audio: z.looseObject({ data: text, format: text }) }),
  z.looseObject({ type: z.literal("file"), file: anyObject }),
]);
const assistantPart = z.discriminatedUnion("type", [textPart, z.looseObject({ type: z.literal("refusal"), refusal: text })]);

const TEXT_OR_PARTS = either("must be a string or a non-empty array of content parts");
const textContent = z.union([text, z.array(textPart).min(1)], TEXT_OR_PARTS);
const userContent = z.union([text, z.array(userPart).min(1)], TEXT_OR_PARTS);
const assistantContent = z.union([text, z.array(assistantPart).min(1)], TEXT_OR_PARTS).nullish();

const name = text.nullish();
const toolCall = z.looseObject({ id: text, type: text.nullish() });
const message = z.discriminatedUnion(
  "role",
  [
    z.looseObject({ role: z.literal("system"), content: textContent, name }),
    z.looseObject({ role: z.literal("developer"), content: textContent, name }),
    z.looseObject({ role: z.literal("user"), content: userContent, name }),
    z.looseObject({
      role: z.literal("assistant"),
      content: assistantContent,
      name,
      refusal: text.nullish(),
      tool_calls: z.array(toolCall).nullish(),
    }),
    z.looseObject({ role: z.literal("tool"), content: textContent, tool_call_id: text }),
    z.looseObject({ role: z.literal("function"), content: text.nullable(), name: text }),
  ],
  either("role must be one of system, developer, user, assistant, tool, function"),
);

/** A chat completion request. Fields that are not listed pass on to the provider as they are. */
export const chatRequest = z.looseObject({
  model: text.min(1).max(256),
  messages: z.array(message).min(1, "must not be empty").max(MESSAGES_MAX, `must have at most ${MESSAGES_MAX} messages`),
  frequency_penalty: numberWithin(-2, 2),
  presence_penalty: numberWithin(-2, 2),
  logit_bias: z.record(text, z.number().min(-100).max(100)).nullish(),
  logprobs: flag,
  top_logprobs: wholeNumber(0, 20),
  max_tokens: wholeNumber(1),
  max_completion_tokens: wholeNumber(1),
  n: wholeNumber(1, 8),
  response_format: z.looseObject({ type: text }).nullish(),
  seed: wholeNumber(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
  service_tier: text.nullish(),
  stop: z.union([text, z.array(text).max(4)], either("must be a string or an array of at most 4 strings")).nullish(),
  stream: flag,
  stream_options: z.looseObject({ include_usage: flag }).nullish(),
  temperature: numberWithin(0, 2),
  top_p: numberWithin(0, 1),
  tools: z
    .array(z.looseObject({ type: text }))
    .max(128)
    .nullish(),
  tool_choice: z.union([text, anyObject], either("must be a string or an object")).nullish(),
  parallel_tool_calls: flag,
  functions: z
    .array(z.looseObject({ name: text }))
    .max(128)
    .nullish(),
  function_call: z.union([text, anyObject], either("must be a string or an object")).nullish(),
  user: text.nullish(),
  metadata: anyObject.nullish(),
  guardrails: z.array(text).nullish(),
  caching: flag,
  num_retries: wholeNumber(0, 10),
  context_window_fallback_dict: z.record(text, text).nullish(),
  fallbacks: z.array(text).max(5).nullish(),
});

/** A valid request: nulls taken out, so that from here on a field is there or it is not. */
export type ChatRequest = { [Field in keyof z.infer<typeof chatRequest>]: Exclude<z.infer<typeof chatRequest>[Field], null> };

/** Where a call goes and with whose key is the gateway's business: a client must not steer our stored keys to its own address. */
const REFUSED_FIELDS = ["api_base", "api_key", "api_version", "api_type", "custom_llm_provider"];

/** A body as a valid request; a model named by the path wins over the body's. Throws UNPROCESSABLE with every fault. */
export function parseChatRequest(body: unknown, pathModel?: string): ChatRequest {
  const given = typeof body === "object" && body !== null && !Array.isArray(body) ? withoutNulls(body) : body;
  if (isFields(given)) {
    const refused = REFUSED_FIELDS.find((field) => given[field] !== undefined);
    if (refused) throw new AppError("UNSUPPORTED_PARAMETER", `The parameter ${refused} is not accepted from clients.`, { param: refused });
    if (pathModel !== undefined) given["model"] = pathModel;
  }
  const result = chatRequest.safeParse(given);
  if (result.success) return result.data as ChatRequest;
  throw unprocessable(result.error.issues);
}

function withoutNulls(body: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unprocessable(issues: readonly z.core.$ZodIssue[]): AppError {
  const details: ErrorDetail[] = issues.slice(0, 20).map((issue) => ({
    path: ["body", ...issue.path.map(String)].join("."),
    message: issue.code === "invalid_type" && issue.message.endsWith("received undefined") ? FIELD_REQUIRED : issue.message,
  }));
  const param = issues[0] ? paramOf(issues[0].path) : undefined;
  const summary = details[0]?.message ?? "The request is not valid.";
  return new AppError("UNPROCESSABLE", param === undefined ? summary : `${param}: ${summary}`, { details, param });
}

/** A path in OpenAI's words: messages[0].content. */
function paramOf(path: readonly PropertyKey[]): string | undefined {
  if (path.length === 0) return undefined;
  return path.map((step, index) => (typeof step === "number" ? `[${step}]` : `${index === 0 ? "" : "."}${String(step)}`)).join("");
}
