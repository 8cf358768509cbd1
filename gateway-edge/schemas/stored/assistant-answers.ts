import { z } from "zod";
import { metadata, responseFormat, toolResources, tools } from "./assistants.ts";

// The API objects as clients see them: all keys are present, with null for missing values.

const text = z.string();
const seconds = z.int();
const secondsOrNull = seconds.nullable();
const numberOrNull = z.number().nullable();

export const assistantObject = z.object({
  id: text,
  object: z.literal("assistant"),
  created_at: seconds,
  name: text.nullable(),
  description: text.nullable(),
  model: text,
  instructions: text.nullable(),
  tools,
  tool_resources: toolResources.nullable(),
  metadata,
  temperature: numberOrNull,
  top_p: numberOrNull,
  response_format: responseFormat,
  reasoning_effort: text.nullable(),
});
export type AssistantObject = z.output<typeof assistantObject>;

export const threadObject = z.object({
  id: text,
  object: z.literal("thread"),
  created_at: seconds,
  metadata,
  tool_resources: toolResources.nullable(),
});
export type ThreadObject = z.output<typeof threadObject>;

const textBlock = z.object({
  type: z.literal("text"),
  text: z.object({ value: text, annotations: z.array(z.looseObject({ type: text })) }),
});
const contentBlock = z.union([
  textBlock,
  z.object({ type: z.literal("image_url"), image_url: z.object({ url: text, detail: text }) }),
  z.object({ type: z.literal("image_file"), image_file: z.object({ file_id: text, detail: text }) }),
  z.object({ type: z.literal("refusal"), refusal: text }),
]);
export type ContentBlock = z.output<typeof contentBlock>;

export const messageObject = z.object({
  id: text,
  object: z.literal("thread.message"),
  created_at: seconds,
  thread_id: text,
  status: z.enum(["in_progress", "incomplete", "completed"]),
  incomplete_details: z.object({ reason: text }).nullable(),
  completed_at: secondsOrNull,
  incomplete_at: secondsOrNull,
  role: z.enum(["user", "assistant"]),
  content: z.array(contentBlock),
  assistant_id: text.nullable(),
  run_id: text.nullable(),
  attachments: z.array(z.object({ file_id: text, tools: z.array(z.object({ type: text })) })),
  metadata,
});
export type MessageObject = z.output<typeof messageObject>;

export const RUN_STATES = [
  "queued",
  "in_progress",
  "requires_action",
  "cancelling",
  "cancelled",
  "failed",
  "completed",
  "incomplete",
  "expired",
] as const;
export type RunState = (typeof RUN_STATES)[number];

const tokenUsage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
export type TokenUsage = z.output<typeof tokenUsage>;
const lastError = z.object({ code: z.enum(["server_error", "rate_limit_exceeded", "invalid_prompt"]), message: text });
export type LastError = z.output<typeof lastError>;

const requestedCall = z.object({ id: text, type: z.literal("function"), function: z.object({ name: text, arguments: text }) });
export type RequestedCall = z.output<typeof requestedCall>;

export const runObject = z.object({
  id: text,
  object: z.literal("thread.run"),
  created_at: seconds,
  thread_id: text,
  assistant_id: text,
  status: z.enum(RUN_STATES),
  required_action: z
    .object({ type: z.literal("submit_tool_outputs"), submit_tool_outputs: z.object({ tool_calls: z.array(requestedCall) }) })
    .nullable(),
  last_error: lastError.nullable(),
  expires_at: secondsOrNull,
  started_at: secondsOrNull,
  cancelled_at: secondsOrNull,
  failed_at: secondsOrNull,
  completed_at: secondsOrNull,
  incomplete_details: z.object({ reason: z.enum(["max_completion_tokens", "max_prompt_tokens"]) }).nullable(),
  model: text,
  instructions: text,
  tools,
  metadata,
  usage: tokenUsage.nullable(),
  temperature: numberOrNull,
  top_p: numberOrNull,
  max_prompt_tokens: z.int().nullable(),
  max_completion_tokens: z.int().nullable(),
  truncation_strategy: z.object({ type: z.enum(["auto", "last_messages"]), last_messages: z.int().nullable() }),
  response_format: responseFormat,
  tool_choice: z.union([text, z.looseObject({ type: text })]),
  parallel_tool_calls: z.boolean(),
  reasoning_effort: text.nullable(),
});
export type RunObject = z.output<typeof runObject>;

const functionCall = z.object({
  id: text,
  type: z.literal("function"),
  function: z.object({ name: text, arguments: text, output: text.nullable() }),
});
const searchCall = z.object({
  id: text,
  type: z.literal("file_search"),
  file_search: z.object({
    ranking_options: z.object({ ranker: text, score_threshold: z.number() }),
    results: z.array(
      z.object({ file_id: text, file_name: text, score: z.number(), content: z.array(z.object({ type: z.literal("text"), text })) }),
    ),
  }),
});
const stepCall = z.discriminatedUnion("type", [functionCall, searchCall]);
export type StepCall = z.output<typeof stepCall>;
export type SearchCall = z.output<typeof searchCall>;

export const stepObject = z.object({
  id: text,
  object: z.literal("thread.run.step"),
  created_at: seconds,
  run_id: text,
  assistant_id: text,
  thread_id: text,
  type: z.enum(["message_creation", "tool_calls"]),
  status: z.enum(["in_progress", "cancelled", "failed", "completed", "expired"]),
  step_details: z.discriminatedUnion("type", [
    z.object({ type: z.literal("message_creation"), message_creation: z.object({ message_id: text }) }),
    z.object({ type: z.literal("tool_calls"), tool_calls: z.array(stepCall) }),
  ]),
  last_error: lastError.nullable(),
  expired_at: secondsOrNull,
  cancelled_at: secondsOrNull,
  failed_at: secondsOrNull,
  completed_at: secondsOrNull,
  metadata,
  usage: tokenUsage.nullable(),
});
export type StepObject = z.output<typeof stepObject>;

export const listOf = (item: z.ZodType) =>
  z.object({ object: z.literal("list"), data: z.array(item), first_id: text.nullable(), last_id: text.nullable(), has_more: z.boolean() });

export const deletedObject = (object: string) => z.object({ id: text, object: z.literal(object), deleted: z.literal(true) });
