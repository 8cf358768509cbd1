import { z } from "zod";
import { INT32_MAX } from "../fields.ts";
import { atMost, INSTRUCTIONS_LENGTH_MAX, metadata, modelName, sampling, toolResources, tools } from "./assistants.ts";
import { newMessages, newThread } from "./threads.ts";

const TOKENS_MIN = 256;
const OUTPUTS_MAX = 128;

const text = z.string();
const tokenLimit = z.int().min(TOKENS_MIN, `must be at least ${TOKENS_MIN}`).max(INT32_MAX).nullish();

const truncation = z
  .object({ type: z.enum(["auto", "last_messages"]), last_messages: z.int().min(1).nullish() })
  .refine(({ type, last_messages }) => (type === "last_messages") === (typeof last_messages === "number"), {
    error: "is required if type is last_messages, and not allowed otherwise",
    path: ["last_messages"],
  });

const toolChoice = z.union(
  [
    z.enum(["none", "auto", "required"]),
    z.object({ type: z.literal("function"), function: z.object({ name: text.min(1) }) }),
    z.object({ type: z.enum(["file_search", "code_interpreter"]) }),
  ],
  { error: () => 'must be "none", "auto", "required" or name a tool' },
);

const runFields = {
  assistant_id: text.min(1).max(128),
  model: modelName.nullish(),
  instructions: atMost(INSTRUCTIONS_LENGTH_MAX).nullish(),
  tools: tools.nullish(),
  metadata: metadata.nullish(),
  ...sampling,
  stream: z.boolean().nullish(),
  max_prompt_tokens: tokenLimit,
  max_completion_tokens: tokenLimit,
  truncation_strategy: truncation.nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
};

export const newRun = z.object({
  ...runFields,
  additional_instructions: atMost(INSTRUCTIONS_LENGTH_MAX).nullish(),
  additional_messages: newMessages.nullish(),
});
export type NewRun = z.output<typeof newRun>;

export const newThreadAndRun = z.object({ ...runFields, thread: newThread.nullish(), tool_resources: toolResources.nullish() });

export const toolOutputs = z.object({
  tool_outputs: z
    .array(z.object({ tool_call_id: text.min(1), output: text.nullish() }))
    .min(1, "must not be empty")
    .max(OUTPUTS_MAX),
  stream: z.boolean().nullish(),
});
export type ToolOutput = z.output<typeof toolOutputs>["tool_outputs"][number];
