import { z } from "zod";
import { countMessagesRequest, messagesRequest } from "../../../schemas/calls/messages.ts";
import type { OperationDescription, ResponseDescription } from "../../../schemas/operation-description.ts";
import { twice } from "../gateway-operation.ts";

export const MESSAGES_PATHS = twice("messages");
export const COUNT_MESSAGES_PATHS = twice("messages/count_tokens");

const message = z.looseObject({
  id: z.string(),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullable(),
  stop_sequence: z.string().nullable(),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int() }),
});
const anthropicError = z.object({
  type: z.literal("error"),
  error: z.object({ type: z.string(), message: z.string() }),
  request_id: z.string(),
});

const failure = (description: string): ResponseDescription => ({ description, schema: anthropicError });
const REFUSALS: Readonly<Record<number, ResponseDescription>> = {
  400: failure("The request is not valid or not supported."),
  401: failure("No valid API key."),
  403: failure("The key may not use the model, or its team is blocked."),
  404: failure("The model does not exist."),
  429: failure("A rate limit was exceeded."),
};

/** The OpenAPI entries of Anthropic's API. */
export function describeMessages(): OperationDescription[] {
  const create = {
    summary: "Create a message with any chat model in Anthropic's format; streamed if `stream` is true",
    body: messagesRequest,
    responses: {
      200: { description: "The message.", schema: message },
      402: failure("Out of credit."),
      ...REFUSALS,
      529: failure("The provider cannot be reached or is overloaded."),
    },
  };
  const count = {
    summary: "Count the input tokens of a message",
    body: countMessagesRequest,
    responses: { 200: { description: "The count.", schema: z.object({ input_tokens: z.int() }) }, ...REFUSALS },
  };
  const at = (paths: readonly string[], operation: typeof create | typeof count) =>
    paths.map((path) => ({ method: "post" as const, path, tags: ["messages"], auth: "key" as const, ...operation }));
  return [...at(MESSAGES_PATHS, create), ...at(COUNT_MESSAGES_PATHS, count)];
}
