import type { Response } from "express";
import { abortSignalOf } from "../../../../common/cancel.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { listAnswer, listQuery, readPage } from "../../../schemas/object-list.ts";
import { listOf, type RunObject, runObject } from "../../../schemas/stored/assistant-answers.ts";
import { metadataChange } from "../../../schemas/stored/assistants.ts";
import { newRun, newThreadAndRun, toolOutputs } from "../../../schemas/stored/runs.ts";
import type { RunBody } from "../../../stored/assistants/bodies.ts";
import { followStoredRun } from "../../../stored/assistants/follow-run.ts";
import { cancelRun, createRun, createThreadAndRun, requireRun, submitToolOutputs } from "../../../stored/assistants/run-actions.ts";
import type { RunEvent } from "../../../stored/assistants/run-feed.ts";
import { isEnded } from "../../../stored/assistants/run-states.ts";
import { requireThread } from "../../../stored/assistants/thread-store.ts";
import { ownerOf } from "../../../stored/records/own-record.ts";
import type { RecordOf } from "../../../stored/records/records.ts";
import { writeAgainstChange } from "../../../stored/records/write-against-change.ts";
import { StreamedAnswer } from "../calls/answer-once.ts";
import { clientLeft } from "../calls/client-left.ts";
import { type GatewayOperation, jsonOperation, twice } from "../gateway-operation.ts";
import type { AssistantsDeps } from "./assistants-deps.ts";
import { streamRun } from "./run-stream.ts";

const POLL_AFTER_MS = "500";

/** A run to start on this edge, and to stream if the caller wants that. */
interface Starting {
  readonly record: RecordOf<RunBody>;
  readonly caller: Caller;
  readonly response: Response;
  readonly stream: boolean;
  /** Events to send before the run's own. */
  readonly first: readonly RunEvent[];
}

export function runOperations(deps: AssistantsDeps): GatewayOperation[] {
  const shared = { tag: "Runs", bodyBytesMax: deps.bodyBytesMax, once: deps.once, answer: runObject };
  const one = { ...shared, paths: twice("threads/:thread_id/runs/:run_id") };
  return [
    jsonOperation({
      ...shared,
      method: "post",
      paths: twice("threads/runs"),
      makesCall: true,
      summary: "Create a thread and a run on it",
      body: newThreadAndRun,
      handle: async ({ body, caller, response }) => {
        const { thread: givenThread, tool_resources: resources, stream, ...given } = body;
        const created = await createThreadAndRun(deps, caller, { thread: givenThread ?? {}, resources, given });
        const first = [{ event: "thread.created", data: created.thread }, ...asNew(created.record.body.run)];
        return start(deps, { record: created.record, caller, response, stream: stream === true, first });
      },
      streamAgain: async ({ caller, response }, stored) => {
        const run = stored as RunObject;
        const { body } = await requireThread(deps, caller, run.thread_id);
        await streamStored(deps, { caller, response, run, first: [{ event: "thread.created", data: body.thread }, ...asNew(run)] });
      },
    }),
    ...threadRuns(deps),
    jsonOperation({
      ...one,
      method: "get",
      summary: "Retrieve a run",
      handle: async ({ param, caller, response }) => {
        const { run } = (await requireRun(deps, caller, placeOf(param))).body;
        // The official clients poll after this time, or after five seconds without the header.
        if (!isEnded(run.status)) response.setHeader("openai-poll-after-ms", POLL_AFTER_MS);
        return run;
      },
    }),
    jsonOperation({
      ...one,
      method: "post",
      summary: "Modify a run",
      body: metadataChange,
      keepNulls: true,
      handle: async ({ body, param, caller }) => {
        const { result } = await writeAgainstChange(deps, ownerOf(caller), async () => {
          const record = await requireRun(deps, caller, placeOf(param));
          const run = body.metadata === undefined ? record.body.run : { ...record.body.run, metadata: body.metadata ?? {} };
          const put = { type: "put", kind: "run", id: record.id, body: { ...record.body, run } } as const;
          return { writes: [{ ...put, expectedRevision: record.revision, keepWork: true }], result: run };
        });
        return result;
      },
    }),
    ...runActions(deps),
  ];
}

function threadRuns(deps: AssistantsDeps): GatewayOperation[] {
  const shared = { tag: "Runs", bodyBytesMax: deps.bodyBytesMax, once: deps.once, paths: twice("threads/:thread_id/runs") };
  return [
    jsonOperation({
      ...shared,
      method: "post",
      makesCall: true,
      summary: "Create a run on a thread",
      body: newRun,
      answer: runObject,
      handle: async ({ body, param, caller, response }) => {
        const { stream, ...given } = body;
        const record = await createRun(deps, caller, { threadId: param("thread_id"), given });
        return start(deps, { record, caller, response, stream: stream === true, first: asNew(record.body.run) });
      },
      streamAgain: ({ caller, response }, stored) => {
        const run = stored as RunObject;
        return streamStored(deps, { caller, response, run, first: asNew(run) });
      },
    }),
    jsonOperation({
      ...shared,
      method: "get",
      summary: "List the runs of a thread",
      query: listQuery,
      answer: listOf(runObject),
      handle: async ({ query, param, caller }) => {
        const parentId = param("thread_id");
        await requireThread(deps, caller, parentId);
        const page = await deps.records.list<RunBody>(caller.teamId, "run", { ...readPage(query), parentId });
        return listAnswer(
          page.records.map(({ body }) => body.run),
          page.hasMore,
        );
      },
    }),
  ];
}

function runActions(deps: AssistantsDeps): GatewayOperation[] {
  const shared = { tag: "Runs", bodyBytesMax: deps.bodyBytesMax, once: deps.once, method: "post", answer: runObject } as const;
  return [
    jsonOperation({
      ...shared,
      paths: twice("threads/:thread_id/runs/:run_id/cancel"),
      summary: "Cancel a run",
      handle: async ({ param, caller }) => {
        const run = await cancelRun(deps, caller, placeOf(param));
        deps.breakOff(run.id);
        return run;
      },
    }),
    jsonOperation({
      ...shared,
      paths: twice("threads/:thread_id/runs/:run_id/submit_tool_outputs"),
      summary: "Submit tool outputs to a run",
      body: toolOutputs,
      handle: async ({ body, param, caller, response }) => {
        const { record, step } = await submitToolOutputs(deps, caller, { ...placeOf(param), outputs: body.tool_outputs });
        const first = [
          { event: "thread.run.step.completed", data: step },
          { event: "thread.run.queued", data: record.body.run },
        ];
        return start(deps, { record, caller, response, stream: body.stream === true, first });
      },
      streamAgain: ({ caller, response }, stored) => {
        const run = stored as RunObject;
        return streamStored(deps, { caller, response, run, first: [{ event: "thread.run.queued", data: run }] });
      },
    }),
  ];
}

/** Follows the run before it starts, so that no event is missed. */
function start(deps: AssistantsDeps, { record, caller, response, stream, first }: Starting): RunObject | StreamedAnswer {
  const events = stream ? deps.feed.follow(record.id) : undefined;
  if (!deps.starter.start(record, caller)) deps.feed.end(record.id);
  const { run } = record.body;
  return events ? new StreamedAnswer(run, () => streamRun(response, { ...deps, first, events })) : run;
}

/** Streams a run that an earlier request with the same Idempotency-Key has started, perhaps at another edge. */
function streamStored(
  deps: AssistantsDeps,
  { response, first, ...following }: Pick<Starting, "caller" | "response" | "first"> & { run: RunObject },
): Promise<void> {
  const signal = abortSignalOf(clientLeft(response, deps.openCalls));
  return streamRun(response, { ...deps, first, events: followStoredRun(deps, { ...following, signal }) });
}

function asNew(run: RunObject): RunEvent[] {
  return ["created", "queued"].map((name) => ({ event: `thread.run.${name}`, data: run }));
}

const placeOf = (param: (name: string) => string) => ({ threadId: param("thread_id"), runId: param("run_id") });
