import { z } from "zod";
import { INT32_MAX } from "../fields.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { isPlainChat } from "./plain-chat.ts";
import { CHOICES_MAX, MESSAGES_MAX, TOOLS_MAX } from "./sizes.ts";
import { timeoutFields } from "./timeout-fields.ts";

// An explicit null means absent in every field: official clients send both.
const text = z.string();
const flag = z.boolean().nullish();
const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.number().refine(Number.isInteger, "must be a whole number").min(min).max(max).nullish();
/** Limit of output tokens. The model's own limit is checked later; above this value a call cannot be priced. */
const outputLimit = wholeNumber(1, INT32_MAX);
const numberWithin = (min: number, max: number) => z.number().min(min).max(max).nullish();
const anyObject = z.looseObject({});
const either = (expectation: string) => ({ error: () => expectation });

const textPart = z.looseObject({ type: z.literal("text"), text });
const userPart = z.discriminatedUnion("type", [
  textPart,
  z.looseObject({ type: z.literal("image_url"), image_url: z.union([text, z.looseObject({ url: text })]) }),
  z.looseObject({ type: z.literal("input_audio"), input_audio: z.looseObject({ data: text, format: text }) }),
  z.looseObject({ type: z.literal("file"), file: anyObject }),
  // Not of OpenAI: OpenRouter, vLLM and Gemini take videos, Mistral documents and the thinking of its own answers.
  z.looseObject({ type: z.literal("video_url"), video_url: z.union([text, z.looseObject({ url: text })]) }),
  z.looseObject({ type: z.literal("document_url"), document_url: text }),
]);
const assistantPart = z.discriminatedUnion("type", [
  textPart,
  z.looseObject({ type: z.literal("refusal"), refusal: text }),
  z.looseObject({ type: z.literal("thinking"), thinking: z.union([text, z.array(z.looseObject({ type: text }))]) }),
]);

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

/** A chat completion request. Unlisted fields are passed to the provider unchanged. */
export const chatRequest = z.looseObject({
  model: text.min(1).max(256),
  messages: z.array(message).min(1, "must not be empty").max(MESSAGES_MAX, `must have at most ${MESSAGES_MAX} messages`),
  frequency_penalty: numberWithin(-2, 2),
  presence_penalty: numberWithin(-2, 2),
  logit_bias: z.record(text, z.number().min(-100).max(100)).nullish(),
  logprobs: flag,
  top_logprobs: wholeNumber(0, 20),
  max_tokens: outputLimit,
  max_completion_tokens: outputLimit,
  n: wholeNumber(1, CHOICES_MAX),
  response_format: z.looseObject({ type: text }).nullish(),
  seed: wholeNumber(Number.MIN_SAFE_INTEGER),
  service_tier: text.nullish(),
  stop: z.union([text, z.array(text).max(4)], either("must be a string or an array of at most 4 strings")).nullish(),
  stream: flag,
  stream_options: z.looseObject({ include_usage: flag }).nullish(),
  temperature: numberWithin(0, 2),
  top_p: numberWithin(0, 1),
  tools: z
    .array(z.looseObject({ type: text }))
    .max(TOOLS_MAX)
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
  ...timeoutFields,
  context_window_fallback_dict: z.record(text, text).nullish(),
  fallbacks: z.array(text).max(5).nullish(),
});

/** A valid request without nulls: a field is present or absent. */
export type ChatRequest = WithoutNulls<z.output<typeof chatRequest>>;

export function parseChatRequest(body: unknown, pathModel?: string): ChatRequest {
  if (pathModel === undefined && isPlainChat(body)) return body as ChatRequest;
  return parseRequest(chatRequest, body, pathModel);
}
