import { z } from "zod";
import { responsesRequest } from "../calls/responses.ts";

const text = z.string();
const MESSAGES_MAX = 100;
const TEXT_LENGTH_MAX = 128 * 1024;
const METADATA_MAX = 16;

const templateText = text.max(TEXT_LENGTH_MAX, `must have at most ${TEXT_LENGTH_MAX} characters`);
const { temperature, top_p, max_output_tokens, tools, tool_choice, text: format, reasoning } = responsesRequest.shape;

/** What a prompt sets for a call. `{{name}}` in instructions and messages is replaced by a variable of the request. */
export const promptTemplate = z.strictObject({
  model: text.min(1).max(256).nullish(),
  instructions: templateText.nullish(),
  messages: z
    .array(z.strictObject({ role: z.enum(["system", "developer", "user", "assistant"]), content: templateText }))
    .max(MESSAGES_MAX, `must have at most ${MESSAGES_MAX} messages`)
    .nullish(),
  tools,
  tool_choice,
  temperature,
  top_p,
  max_output_tokens,
  text: format,
  reasoning,
});
export type PromptTemplate = z.output<typeof promptTemplate>;

const name = text.max(256).nullish();
const metadata = z
  .record(text.max(64), text.max(512))
  .refine((given) => Object.keys(given).length <= METADATA_MAX, `must have at most ${METADATA_MAX} entries`)
  .nullish();

export const newPrompt = z.object({ name, metadata, template: promptTemplate });
export const promptChange = z.object({ name, metadata, version: text.max(16).optional() });
export const newPromptVersion = z.object({
  template: promptTemplate,
  /** Whether requests that name no version get this one from now on. */
  current: z.boolean().nullish(),
});

export const promptObject = z.object({
  id: text,
  object: z.literal("prompt"),
  created_at: z.int(),
  name: text.nullable(),
  metadata: z.record(text, text),
  /** The version for requests that name none. */
  version: text,
  latest_version: text,
});
export type PromptObject = z.output<typeof promptObject>;

export const promptVersionObject = z.object({
  id: text,
  object: z.literal("prompt.version"),
  prompt_id: text,
  version: text,
  created_at: z.int(),
  /** The names in `{{…}}`: a request gives a value for each. */
  variables: z.array(text),
  template: promptTemplate,
});
export type PromptVersionObject = z.output<typeof promptVersionObject>;
