import { z } from "zod";
import { chatRequest } from "../../schemas/calls/chat.ts";
import { completionsRequest } from "../../schemas/calls/completions.ts";
import { embeddingsRequest } from "../../schemas/calls/embeddings.ts";
import { moderationsRequest } from "../../schemas/calls/moderations.ts";
import type { OperationDescription, ResponseDescription } from "../../schemas/operation-description.ts";
import { describeMediaOperations } from "./calls/media-operations.ts";
import { failure } from "./gateway-operation.ts";
import { describeModelOperations } from "./models/model-operations.ts";

/** The inference paths; the router and /openapi.json are both made from these lists. */
const priced = (operation: string) =>
  [`/${operation}`, `/v1/${operation}`, `/engines/:model/${operation}`, `/openai/deployments/:model/${operation}`] as const;
export const CHAT_PATHS = priced("chat/completions");
export const COMPLETIONS_PATHS = priced("completions");
export const EMBEDDINGS_PATHS = priced("embeddings");
export const MODERATIONS_PATHS = ["/moderations", "/v1/moderations"] as const;

const usage = z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const chatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int(), message: z.looseObject({ role: z.string() }), finish_reason: z.string() })),
  usage,
});

const textCompletion = z.looseObject({
  id: z.string(),
  object: z.literal("text_completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int(), text: z.string(), finish_reason: z.string() })),
  usage,
});
const embeddingList = z.looseObject({
  object: z.literal("list"),
  model: z.string(),
  data: z.array(z.looseObject({ index: z.int(), embedding: z.union([z.array(z.number()), z.string()]) })),
  usage: z.looseObject({ prompt_tokens: z.int(), total_tokens: z.int() }),
});
const moderation = z.looseObject({ id: z.string(), model: z.string(), results: z.array(z.looseObject({ flagged: z.boolean() })) });

const REFUSALS: Readonly<Record<number, ResponseDescription>> = {
  400: failure("The request is malformed or not supported."),
  401: failure("No valid API key."),
  403: failure("The key may not use the model, or its team is blocked."),
  404: failure("The model does not exist."),
  422: failure("The body is not valid; `detail` lists all errors."),
  429: failure("Out of credit, or over a rate limit."),
  503: failure("The provider or the control plane cannot be reached."),
};

/** The OpenAPI entries of the inference operations. */
export function describeOperations(): OperationDescription[] {
  return [
    ...describe(CHAT_PATHS, {
      summary: "Create a chat completion; streamed if `stream` is true",
      tag: "chat",
      body: chatRequest,
      answer: chatCompletion,
    }),
    ...describe(COMPLETIONS_PATHS, {
      summary: "Create a legacy text completion; streamed if `stream` is true",
      tag: "completions",
      body: completionsRequest,
      answer: textCompletion,
    }),
    ...describe(EMBEDDINGS_PATHS, {
      summary: "Create embeddings of texts or tokens",
      tag: "embeddings",
      body: embeddingsRequest,
      answer: embeddingList,
    }),
    ...describe(MODERATIONS_PATHS, {
      summary: "Check whether content violates a policy",
      tag: "moderations",
      body: moderationsRequest,
      answer: moderation,
    }),
    ...describeMediaOperations(REFUSALS),
    ...describeModelOperations(),
  ];
}

interface DescribedOperation {
  summary: string;
  tag: string;
  body: z.ZodObject;
  answer: z.ZodType;
}

function describe(paths: readonly string[], { summary, tag, body, answer }: DescribedOperation): OperationDescription[] {
  return paths.map((path) => ({
    method: "post",
    path,
    summary,
    tags: [tag],
    auth: "key",
    body: path.includes(":model") ? body.partial({ model: true }) : body,
    ...(path.includes(":model") ? { params: z.object({ model: z.string() }) } : {}),
    responses: { 200: { description: "The response.", schema: answer }, ...REFUSALS },
  }));
}
