import { z } from "zod";
import { atMost, metadata, toolResources } from "./assistants.ts";

const MESSAGES_MAX = 100;
const CONTENT_LENGTH_MAX = 256_000;
const PARTS_MAX = 100;
const ATTACHMENTS_MAX = 100;

const text = z.string();
const detail = z.enum(["auto", "low", "high"]).nullish();
const part = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("text"), text: atMost(CONTENT_LENGTH_MAX) }),
    z.object({ type: z.literal("image_url"), image_url: z.object({ url: text.min(1), detail }) }),
    z.object({ type: z.literal("image_file"), image_file: z.object({ file_id: text.min(1), detail }) }),
  ],
  { error: () => "type must be one of text, image_url, image_file" },
);
export type InputPart = z.output<typeof part>;

const attachment = z.object({
  file_id: text.min(1),
  tools: z
    .array(z.object({ type: z.enum(["file_search", "code_interpreter"]) }))
    .max(2)
    .nullish(),
});
export type Attachment = z.output<typeof attachment>;

export const newMessage = z.object({
  role: z.enum(["user", "assistant"]),
  content: z.union([atMost(CONTENT_LENGTH_MAX), z.array(part).min(1).max(PARTS_MAX)], {
    error: () => `must be a string of at most ${CONTENT_LENGTH_MAX} characters or a non-empty array of content parts`,
  }),
  attachments: z.array(attachment).max(ATTACHMENTS_MAX).nullish(),
  metadata: metadata.nullish(),
});
export type NewMessage = z.output<typeof newMessage>;

export const newMessages = z.array(newMessage).max(MESSAGES_MAX, `must have at most ${MESSAGES_MAX} messages`);

export const newThread = z.object({
  messages: newMessages.nullish(),
  metadata: metadata.nullish(),
  tool_resources: toolResources.nullish(),
});
export type NewThread = z.output<typeof newThread>;

export const threadChange = z.object({ metadata: metadata.nullish(), tool_resources: toolResources.nullish() });
