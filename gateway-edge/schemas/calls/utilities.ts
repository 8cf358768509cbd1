import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { queryFlag } from "../request-query.ts";
import { MESSAGES_MAX, TOOLS_MAX } from "./sizes.ts";

const model = z.string().min(1, "must not be empty").max(256);
const anyObject = z.looseObject({});

export const tokenCountQuery = z.object({ call_endpoint: queryFlag });
export const supportedParamsQuery = z.object({ model });

/** LiteLLM's TokenCountRequest. */
export const tokenCountRequest = z.looseObject({
  model,
  prompt: z.string().nullish(),
  messages: z.array(anyObject).max(MESSAGES_MAX).nullish(),
  contents: z.array(anyObject).max(MESSAGES_MAX).nullish(),
  tools: z.array(anyObject).max(TOOLS_MAX).nullish(),
  system: z.unknown().optional(),
});
export type TokenCountRequest = WithoutNulls<z.output<typeof tokenCountRequest>>;

export function parseTokenCountRequest(body: unknown): TokenCountRequest {
  const request = parseRequest(tokenCountRequest, body);
  if (request.prompt !== undefined || request.messages !== undefined || request.contents !== undefined) return request;
  throw new AppError("INVALID_REQUEST", "prompt or messages or contents must be provided", { param: "messages" });
}

/** LiteLLM's call types; each also exists with the prefix `a`. */
const OPERATIONS = [
  "completion",
  "text_completion",
  "embedding",
  "moderation",
  "speech",
  "transcription",
  "image_generation",
  "rerank",
  "responses",
] as const;
export type CallType = (typeof OPERATIONS)[number];

const callTypes = [...OPERATIONS, ...OPERATIONS.map((name) => `a${name}` as const)] as const;

/** LiteLLM's TransformRequestBody. */
export const transformRequest = z.looseObject({
  call_type: z.enum(callTypes, { error: () => `must be one of ${callTypes.join(", ")}` }),
  request_body: anyObject,
});

export function parseTransformRequest(body: unknown): { callType: CallType; body: Readonly<Record<string, unknown>> } {
  const { call_type: given, request_body: inner } = parseRequest(transformRequest, body);
  const callType = OPERATIONS.find((name) => name === given || `a${name}` === given) ?? "completion";
  return { callType, body: inner };
}

export const tokenCountRecord = z.object({
  total_tokens: z.int(),
  request_model: z.string(),
  model_used: z.string(),
  tokenizer_type: z.string(),
  original_response: z.unknown().nullable(),
  error: z.boolean(),
  error_message: z.string().nullable(),
  status_code: z.int().nullable(),
});
export const supportedParamsRecord = z.object({ supported_openai_params: z.array(z.string()) });
export const rawRequestRecord = z.object({
  raw_request_api_base: z.string(),
  raw_request_body: z.looseObject({}),
  raw_request_headers: z.record(z.string(), z.string()),
});
