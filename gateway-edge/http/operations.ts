import { z } from "zod";
import { chatRequest } from "../schemas/chat.ts";
import type { OperationDescription, ResponseDescription } from "../schemas/operation-description.ts";

/** Each inference path once: the router and the OpenAPI page are both made from these lists. */
export const CHAT_PATHS = [
  "/chat/completions",
  "/v1/chat/completions",
  "/engines/:model/chat/completions",
  "/openai/deployments/:model/chat/completions",
] as const;
export const MODEL_LIST_PATHS = ["/models", "/v1/models"] as const;
/** A model's name may hold slashes. */
export const MODEL_PATHS = ["/models/*id", "/v1/models/*id"] as const;

const gatewayError = z.object({
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string().nullable() }),
});
const usage = z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const chatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int(), message: z.looseObject({ role: z.string() }), finish_reason: z.string() })),
  usage,
});
const model = z.object({ id: z.string(), object: z.literal("model"), created: z.int(), owned_by: z.string() });

const failure = (description: string): ResponseDescription => ({ description, schema: gatewayError });
const REFUSALS: Readonly<Record<number, ResponseDescription>> = {
  400: failure("The request cannot be understood, or asks for what is not possible."),
  401: failure("No valid API key."),
  403: failure("The key may not use the model, or its team is blocked."),
  404: failure("No such model."),
  422: failure("The body is not a valid request; `detail` lists every fault."),
  429: failure("Out of credit, or over a rate limit."),
  503: failure("The provider or the control plane cannot be reached."),
};

/** What /openapi.json and /docs say of the inference operations. */
export function describeOperations(): OperationDescription[] {
  return [
    ...CHAT_PATHS.map(
      (path): OperationDescription => ({
        method: "post",
        path,
        summary: "Chat completion; streamed when `stream` is true",
        tags: ["chat"],
        auth: "key",
        body: path.includes(":model") ? chatRequest.partial({ model: true }) : chatRequest,
        ...(path.includes(":model") ? { params: z.object({ model: z.string() }) } : {}),
        responses: { 200: { description: "The answer.", schema: chatCompletion }, ...REFUSALS },
      }),
    ),
    ...MODEL_LIST_PATHS.map(
      (path): OperationDescription => ({
        method: "get",
        path,
        summary: "Models that the key may use",
        tags: ["models"],
        auth: "key",
        responses: {
          200: { description: "The models.", schema: z.object({ object: z.literal("list"), data: z.array(model) }) },
          401: failure("No valid API key."),
        },
      }),
    ),
    ...MODEL_PATHS.map(
      (path): OperationDescription => ({
        method: "get",
        path: path.replace("*id", ":id"),
        summary: "One model",
        tags: ["models"],
        auth: "key",
        params: z.object({ id: z.string() }),
        responses: { 200: { description: "The model.", schema: model }, 401: failure("No valid API key."), 404: failure("No such model.") },
      }),
    ),
  ];
}
