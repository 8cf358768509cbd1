import { z } from "zod";
import { INT32_MAX } from "../fields.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { chatRequest } from "./chat.ts";
import { MESSAGES_MAX, TOOLS_MAX } from "./sizes.ts";
import { timeoutFields } from "./timeout-fields.ts";

const text = z.string();
const flag = z.boolean().nullish();
const wholeNumber = (min: number) => z.number().refine(Number.isInteger, "must be a whole number").min(min);
const share = z.number().min(0).max(1).nullish();
const typed = z.looseObject({ type: text });
const content = z.union([text, z.array(typed)], { error: () => "must be a string or an array of content blocks" });

/** A token count request of Anthropic's Messages API: the fields of a message request that count as input. */
export const countMessagesRequest = z.looseObject({
  model: text.min(1).max(256),
  messages: z
    .array(z.looseObject({ role: z.enum(["user", "assistant", "system"]), content }))
    .min(1, "must not be empty")
    .max(MESSAGES_MAX, `must have at most ${MESSAGES_MAX} messages`),
  system: content.nullish(),
  tools: z
    .array(z.looseObject({ name: text.nullish(), type: text.nullish() }))
    .max(TOOLS_MAX)
    .nullish(),
  tool_choice: typed.nullish(),
  thinking: typed.nullish(),
  output_config: z.looseObject({ effort: text.nullish(), format: typed.nullish() }).nullish(),
});

/** A request of Anthropic's Messages API. Unlisted fields are passed only to upstreams that speak this API. */
export const messagesRequest = countMessagesRequest.extend({
  max_tokens: wholeNumber(1).max(INT32_MAX),
  metadata: z.looseObject({ user_id: text.nullish() }).nullish(),
  stop_sequences: z.array(text).nullish(),
  stream: flag,
  temperature: share,
  top_p: share,
  top_k: wholeNumber(0).nullish(),
  service_tier: text.nullish(),
  num_retries: chatRequest.shape.num_retries,
  ...timeoutFields,
  context_window_fallback_dict: chatRequest.shape.context_window_fallback_dict,
  fallbacks: chatRequest.shape.fallbacks,
  guardrails: chatRequest.shape.guardrails,
  caching: chatRequest.shape.caching,
});

export type CountMessagesRequest = WithoutNulls<z.output<typeof countMessagesRequest>>;
export type MessagesRequest = WithoutNulls<z.output<typeof messagesRequest>>;

export function parseMessagesRequest(body: unknown): MessagesRequest {
  return parseRequest(messagesRequest, body, undefined, { takesContainers: true });
}

export function parseCountMessagesRequest(body: unknown): CountMessagesRequest {
  return parseRequest(countMessagesRequest, body, undefined, { takesContainers: true });
}
