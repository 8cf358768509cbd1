import { newId } from "../../../common/ids.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { ModelDirectory } from "../../calls/inference/model-access.ts";
import type { AssistantObject, RunObject, StepObject, ThreadObject } from "../../schemas/stored/assistant-answers.ts";
import type { ToolResources } from "../../schemas/stored/assistants.ts";
import type { NewRun, ToolOutput } from "../../schemas/stored/runs.ts";
import type { NewMessage, NewThread } from "../../schemas/stored/threads.ts";
import { teamFiles } from "../files/team-files.ts";
import { ownerOf, requireRecord } from "../records/own-record.ts";
import type { RecordOf, RecordWrite } from "../records/records.ts";
import { writeAgainstChange } from "../records/write-against-change.ts";
import type { CreateDeps } from "../vector-stores/create-store.ts";
import type { RunBody, ThreadBody } from "./bodies.ts";
import { requireFiles, requireModel, requireTools } from "./checks.ts";
import { messageOf, newRunBody, runOf, threadOf } from "./objects.ts";
import { ended, endedStep, isEnded, moved, wrongState } from "./run-states.ts";
import { attaching, openResources, searchedStores } from "./search-resources.ts";
import { putThread, requireIdle, requireThread, type StoreDeps } from "./thread-store.ts";
import { createMessage } from "./turn-writes.ts";

/** Starts runs on this edge; a run is leased from the commit that creates it. */
export interface RunStarter {
  lease(): { claim: string; dueAtMs: number };
  /** Returns false if this edge is at its limit; then another edge claims the run. */
  start(record: RecordOf<RunBody>, caller: Caller): boolean;
}

export interface RunDeps extends CreateDeps {
  readonly routing: ModelDirectory & CreateDeps["routing"];
  readonly starter: Pick<RunStarter, "lease">;
}

type GivenRun = Omit<NewRun, "stream">;

/** Creates a queued run on a thread. A thread has one active run at a time, named in its record. */
export async function createRun(
  deps: RunDeps,
  caller: Caller,
  { threadId, given }: { threadId: string; given: GivenRun },
): Promise<RecordOf<RunBody>> {
  const added = given.additional_messages ?? [];
  const assistant = await requireAssistant(deps, caller, given);
  await requireFiles(added, { files: teamFiles(deps.records, caller.teamId), at: "additional_messages" });
  const attach = attaching(deps, caller, added);
  const { written } = await writeAgainstChange(deps, ownerOf(caller), async () => {
    const record = await requireThread(deps, caller, threadId);
    requireIdle(record, "run");
    const thread = await attach(record.body.thread);
    const run = newRun(deps, { given, assistant, threadId });
    const lock = putThread(record, { thread, activeRunId: run.id });
    const stores = searchedStores(assistant.tool_resources, thread.tool_resources);
    return { writes: [createRunRecord(deps, run, stores), lock, ...messageWrites(deps, added, threadId)], result: undefined };
  });
  return written[0] as RecordOf<RunBody>;
}

/** Creates a thread, its messages and a run on it in one commit. */
export async function createThreadAndRun(
  deps: RunDeps,
  caller: Caller,
  { thread: givenThread, resources, given }: { thread: NewThread; resources: ToolResources | null | undefined; given: GivenRun },
): Promise<{ thread: ThreadObject; record: RecordOf<RunBody> }> {
  const messages = givenThread.messages ?? [];
  const assistant = await requireAssistant(deps, caller, given);
  await requireFiles(messages, { files: teamFiles(deps.records, caller.teamId), at: "thread.messages" });
  const own = await openResources(deps, caller, resources);
  const threads = await openResources(deps, caller, givenThread.tool_resources, "thread.tool_resources");
  const nowMs = deps.clock.now();
  const empty = threadOf({ id: newId("thread", deps), nowMs }, { ...givenThread, tool_resources: threads });
  const thread = await attaching(deps, caller, messages)(empty);
  const run = newRun(deps, { given, assistant, threadId: thread.id });
  const body: ThreadBody = { thread, activeRunId: run.id };
  const writes: RecordWrite[] = [
    // Resources of the run take the place of the assistant's.
    createRunRecord(deps, run, searchedStores(own ?? assistant.tool_resources, thread.tool_resources)),
    { type: "create", kind: "thread", id: thread.id, body, createdAtMs: nowMs },
    ...messageWrites(deps, messages, thread.id),
  ];
  const [record] = await deps.records.commit(ownerOf(caller), writes);
  return { thread, record: record as RecordOf<RunBody> };
}

/** The writes that add messages to a thread. */
export function messageWrites(deps: Pick<RunDeps, "clock" | "random">, given: readonly NewMessage[], threadId: string): RecordWrite[] {
  return given.map((message) => createMessage(messageOf({ id: newId("msg", deps), nowMs: deps.clock.now() }, { ...message, threadId })));
}

/** Takes the outputs of all tool calls that a run waits for, and queues the run again. */
export async function submitToolOutputs(
  deps: RunDeps,
  caller: Caller,
  { threadId, runId, outputs }: { threadId: string; runId: string; outputs: readonly ToolOutput[] },
): Promise<{ record: RecordOf<RunBody>; step: StepObject }> {
  const { result: step, written } = await writeAgainstChange(deps, ownerOf(caller), async () => {
    const record = await requireRun(deps, caller, { threadId, runId });
    requireWaiting(record.body.run, outputs, deps.clock.now());
    const stepRecord = await requireRecord<StepObject>(deps, caller, {
      kind: "run_step",
      id: record.body.openStepId ?? "",
      parentId: runId,
    });
    const answered = endedStep(withOutputs(stepRecord.body, outputs), { status: "completed" }, deps.clock.now());
    const put = { type: "put", kind: "run", id: runId, body: resumed(record.body, outputs), expectedRevision: record.revision } as const;
    const writes: RecordWrite[] = [
      { ...put, ...deps.starter.lease() },
      { type: "put", kind: "run_step", id: answered.id, body: answered, expectedRevision: stepRecord.revision },
    ];
    return { writes, result: answered };
  });
  return { record: written[0] as RecordOf<RunBody>, step };
}

/** Marks a run as `cancelling`; the edge that executes it ends it. A run that waits for its caller ends here. */
export async function cancelRun(deps: StoreDeps, caller: Caller, place: { threadId: string; runId: string }): Promise<RunObject> {
  const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
    const record = await requireRun(deps, caller, place);
    const { run } = record.body;
    if (isEnded(run.status) || run.status === "cancelling") throw wrongState(`Cannot cancel run with status '${run.status}'.`);
    if (run.status === "requires_action") return await cancelWaiting(deps, caller, record);
    const body: RunBody = { ...record.body, run: moved(run, "cancelling") };
    const put = { type: "put", kind: "run", id: run.id, body, expectedRevision: record.revision, keepWork: true } as const;
    return { writes: [put], result: body.run };
  });
  return result;
}

export function requireRun(
  deps: StoreDeps,
  caller: Caller,
  { threadId, runId }: { threadId: string; runId: string },
): Promise<RecordOf<RunBody>> {
  return requireRecord<RunBody>(deps, caller, { kind: "run", id: runId, parentId: threadId });
}

async function cancelWaiting(deps: StoreDeps, caller: Caller, record: RecordOf<RunBody>) {
  const nowMs = deps.clock.now();
  const { run, openStepId } = record.body;
  const thread = await requireThread(deps, caller, run.thread_id);
  const step = openStepId === null ? undefined : await deps.records.get<StepObject>(caller.teamId, "run_step", openStepId);
  const body = ended(record.body, { status: "cancelled" }, nowMs);
  const writes: RecordWrite[] = [
    { type: "put", kind: "run", id: run.id, body, expectedRevision: record.revision },
    putThread(thread, { ...thread.body, activeRunId: null }),
  ];
  if (step) writes.push({ type: "put", kind: "run_step", id: step.id, body: endedStep(step.body, { status: "cancelled" }, nowMs) });
  return { writes, result: body.run };
}

async function requireAssistant(deps: RunDeps, caller: Caller, given: GivenRun): Promise<AssistantObject> {
  const { body } = await requireRecord<AssistantObject>(deps, caller, { kind: "assistant", id: given.assistant_id });
  requireModel(caller, given.model ?? body.model, deps.routing);
  requireTools(given.tools);
  return body;
}

function newRun(deps: RunDeps, input: { given: GivenRun; assistant: AssistantObject; threadId: string }): RunObject {
  return runOf({ id: newId("run", deps), nowMs: deps.clock.now() }, input.given, input.assistant, input.threadId);
}

function createRunRecord(deps: RunDeps, run: RunObject, vectorStoreIds: readonly string[]): RecordWrite {
  const body = newRunBody(run, vectorStoreIds);
  return {
    type: "create",
    kind: "run",
    id: run.id,
    parentId: run.thread_id,
    body,
    createdAtMs: deps.clock.now(),
    ...deps.starter.lease(),
  };
}

function requireWaiting(run: RunObject, outputs: readonly ToolOutput[], nowMs: number): void {
  const isOver = run.expires_at !== null && nowMs >= run.expires_at * 1000;
  if (run.status !== "requires_action" || isOver) {
    throw wrongState(`Runs in status "${isOver ? "expired" : run.status}" do not accept tool outputs.`);
  }
  const wanted = new Set(run.required_action?.submit_tool_outputs.tool_calls.map(({ id }) => id));
  const given = outputs.map(({ tool_call_id: id }) => id);
  const unknown = given.find((id) => !wanted.has(id));
  if (unknown !== undefined) throw wrongState(`The run is not waiting for tool call ${unknown}.`, "tool_outputs");
  if (new Set(given).size < given.length) throw wrongState("Each tool call can have only one output.", "tool_outputs");
  const missing = [...wanted].filter((id) => !given.includes(id));
  if (missing.length > 0) throw wrongState(`Expected tool outputs for call_ids [${missing.join(", ")}].`, "tool_outputs");
}

function resumed(body: RunBody, outputs: readonly ToolOutput[]): RunBody {
  const turns = outputs.map(({ tool_call_id: id, output }) => ({ role: "tool", tool_call_id: id, content: output ?? "" }));
  return { ...body, run: moved(body.run, "queued"), turns: [...body.turns, ...turns], openStepId: null };
}

function withOutputs(step: StepObject, outputs: readonly ToolOutput[]): StepObject {
  if (step.step_details.type !== "tool_calls") return step;
  const byId = new Map(outputs.map(({ tool_call_id: id, output }) => [id, output ?? ""]));
  const calls = step.step_details.tool_calls.map((call) =>
    call.type === "function" ? { ...call, function: { ...call.function, output: byId.get(call.id) ?? call.function.output } } : call,
  );
  return { ...step, step_details: { type: "tool_calls", tool_calls: calls } };
}
