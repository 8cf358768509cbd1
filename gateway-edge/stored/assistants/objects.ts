import type {
  AssistantObject,
  ContentBlock,
  MessageObject,
  RunObject,
  StepObject,
  ThreadObject,
} from "../../schemas/stored/assistant-answers.ts";
import type { AssistantChange, NewAssistant } from "../../schemas/stored/assistants.ts";
import type { NewRun } from "../../schemas/stored/runs.ts";
import type { Attachment, InputPart, NewMessage, NewThread } from "../../schemas/stored/threads.ts";
import type { RunBody } from "./bodies.ts";

// New API objects. Pure functions.

/** The id and creation time of a new object. */
export interface Stamp {
  readonly id: string;
  readonly nowMs: number;
}

export const RUN_LIFE_MS = 10 * 60 * 1000;

export const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

export function assistantOf({ id, nowMs }: Stamp, given: NewAssistant): AssistantObject {
  return {
    id,
    object: "assistant",
    created_at: seconds(nowMs),
    name: given.name ?? null,
    description: given.description ?? null,
    model: given.model,
    instructions: given.instructions ?? null,
    tools: given.tools ?? [],
    tool_resources: given.tool_resources ?? null,
    metadata: given.metadata ?? {},
    temperature: given.temperature ?? null,
    top_p: given.top_p ?? null,
    response_format: given.response_format ?? "auto",
    reasoning_effort: given.reasoning_effort ?? null,
  };
}

/** The assistant after a change: absent fields stay, null fields are cleared. */
export function changedAssistant(before: AssistantObject, change: AssistantChange): AssistantObject {
  const { id, created_at: createdAt } = before;
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const model = change.model ?? before.model;
  return { ...assistantOf({ id, nowMs: 0 }, { ...before, ...given, model }), created_at: createdAt };
}

export function threadOf({ id, nowMs }: Stamp, given: NewThread): ThreadObject {
  return {
    id,
    object: "thread",
    created_at: seconds(nowMs),
    metadata: given.metadata ?? {},
    tool_resources: given.tool_resources ?? null,
  };
}

export function messageOf({ id, nowMs }: Stamp, given: NewMessage & { threadId: string }): MessageObject {
  return {
    id,
    object: "thread.message",
    created_at: seconds(nowMs),
    thread_id: given.threadId,
    status: "completed",
    incomplete_details: null,
    completed_at: seconds(nowMs),
    incomplete_at: null,
    role: given.role,
    content: typeof given.content === "string" ? [textBlock(given.content)] : given.content.map(contentBlock),
    assistant_id: null,
    run_id: null,
    attachments: (given.attachments ?? []).map(attachmentOf),
    metadata: given.metadata ?? {},
  };
}

/** An empty message that a run starts to write. */
export function answerMessageOf(stamp: Stamp, run: RunObject): MessageObject {
  const empty = messageOf(stamp, { role: "assistant", content: [], threadId: run.thread_id });
  return { ...empty, status: "in_progress", completed_at: null, content: [], assistant_id: run.assistant_id, run_id: run.id };
}

export function textBlock(value: string, annotations: { type: string }[] = []): ContentBlock {
  return { type: "text", text: { value, annotations } };
}

export function runOf(
  { id, nowMs }: Stamp,
  given: Omit<NewRun, "additional_messages">,
  assistant: AssistantObject,
  threadId: string,
): RunObject {
  const instructions = [given.instructions ?? assistant.instructions ?? "", given.additional_instructions ?? ""];
  return {
    id,
    object: "thread.run",
    created_at: seconds(nowMs),
    thread_id: threadId,
    assistant_id: assistant.id,
    status: "queued",
    required_action: null,
    last_error: null,
    expires_at: seconds(nowMs + RUN_LIFE_MS),
    started_at: null,
    cancelled_at: null,
    failed_at: null,
    completed_at: null,
    incomplete_details: null,
    model: given.model ?? assistant.model,
    instructions: instructions.filter((text) => text !== "").join("\n\n"),
    tools: given.tools ?? assistant.tools,
    metadata: given.metadata ?? {},
    usage: null,
    temperature: given.temperature ?? assistant.temperature,
    top_p: given.top_p ?? assistant.top_p,
    max_prompt_tokens: given.max_prompt_tokens ?? null,
    max_completion_tokens: given.max_completion_tokens ?? null,
    truncation_strategy: {
      type: given.truncation_strategy?.type ?? "auto",
      last_messages: given.truncation_strategy?.last_messages ?? null,
    },
    response_format: given.response_format ?? assistant.response_format,
    tool_choice: given.tool_choice ?? "auto",
    parallel_tool_calls: given.parallel_tool_calls ?? true,
    reasoning_effort: given.reasoning_effort ?? assistant.reasoning_effort,
  };
}

export function newRunBody(run: RunObject, vectorStoreIds: readonly string[] = []): RunBody {
  const searched = vectorStoreIds.length > 0 ? { vectorStoreIds } : {};
  return { run, ...searched, modelCalls: 0, turns: [], used: { prompt: 0, completion: 0 }, openStepId: null };
}

export function stepOf({ id, nowMs }: Stamp, run: RunObject, details: StepObject["step_details"]): StepObject {
  return {
    id,
    object: "thread.run.step",
    created_at: seconds(nowMs),
    run_id: run.id,
    assistant_id: run.assistant_id,
    thread_id: run.thread_id,
    type: details.type,
    status: "in_progress",
    step_details: details,
    last_error: null,
    expired_at: null,
    cancelled_at: null,
    failed_at: null,
    completed_at: null,
    metadata: {},
    usage: null,
  };
}

function contentBlock(part: InputPart): ContentBlock {
  if (part.type === "text") return textBlock(part.text);
  if (part.type === "image_url")
    return { type: "image_url", image_url: { url: part.image_url.url, detail: part.image_url.detail ?? "auto" } };
  return { type: "image_file", image_file: { file_id: part.image_file.file_id, detail: part.image_file.detail ?? "auto" } };
}

function attachmentOf({ file_id, tools }: Attachment) {
  return { file_id, tools: (tools ?? []).map(({ type }) => ({ type })) };
}
