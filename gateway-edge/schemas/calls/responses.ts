import { z } from "zod";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { chatRequest } from "./chat.ts";
import { MESSAGES_MAX } from "./sizes.ts";
import { timeoutFields } from "./timeout-fields.ts";

const METADATA_MAX = 16;

const text = z.string();
const flag = z.boolean().nullish();
const anyObject = z.looseObject({});
const { max_tokens: limit, temperature, top_p, top_logprobs, tools, tool_choice, num_retries } = chatRequest.shape;

/** A request of the Responses API. Unlisted fields are passed to the provider unchanged. */
export const responsesRequest = z.looseObject({
  model: text.min(1).max(256),
  input: z
    .union([text, z.array(anyObject).max(MESSAGES_MAX, `must have at most ${MESSAGES_MAX} items`)], {
      error: (issue) => (issue.code === "invalid_union" ? "must be a string or an array of items" : undefined),
    })
    .nullish(),
  instructions: text.nullish(),
  previous_response_id: text.max(128).nullish(),
  max_output_tokens: limit,
  max_tool_calls: limit,
  temperature,
  top_p,
  top_logprobs,
  tools,
  tool_choice,
  parallel_tool_calls: flag,
  text: z.looseObject({ format: z.looseObject({ type: text }).nullish(), verbosity: text.nullish() }).nullish(),
  reasoning: z.looseObject({ effort: text.nullish(), summary: text.nullish() }).nullish(),
  truncation: z.enum(["auto", "disabled"]).nullish(),
  include: z.array(text).nullish(),
  store: flag,
  stream: flag,
  stream_options: anyObject.nullish(),
  background: flag,
  conversation: z
    .union([text.max(128), z.looseObject({ id: text.max(128) })], { error: () => "must be an id or an object with an id" })
    .nullish(),
  /** A prompt template; its fields are in the request by the time this is validated. */
  prompt: anyObject.nullish(),
  metadata: z
    .looseObject({})
    .refine((given) => Object.keys(given).length <= METADATA_MAX, `must have at most ${METADATA_MAX} entries`)
    .nullish(),
  service_tier: text.nullish(),
  user: text.nullish(),
  safety_identifier: text.nullish(),
  prompt_cache_key: text.nullish(),
  num_retries,
  ...timeoutFields,
  context_window_fallback_dict: chatRequest.shape.context_window_fallback_dict,
  fallbacks: chatRequest.shape.fallbacks,
  guardrails: chatRequest.shape.guardrails,
  caching: chatRequest.shape.caching,
});

export type ResponsesRequest = WithoutNulls<z.output<typeof responsesRequest>>;

export function parseResponsesRequest(body: unknown): ResponsesRequest {
  return parseRequest(responsesRequest, body);
}

/** A response in /openapi.json. */
export const responseObject = z.looseObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  status: z.string(),
  model: z.string(),
  output: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() }).nullable(),
});
