import { pause } from "../../../common/clock.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { MessageObject, RunObject, StepObject } from "../../schemas/stored/assistant-answers.ts";
import type { RecordOf } from "../records/records.ts";
import { requireRun } from "./run-actions.ts";
import type { RunEvent } from "./run-feed.ts";
import { isEnded } from "./run-states.ts";
import type { StoreDeps } from "./thread-store.ts";

const POLL_MS = 500;
const PAGE = 100;

/**
 * The events of a run as the store shows them, from any edge: its steps and messages whole, when the run has ended or waits for its caller.
 * Without the last event if the signal aborts before.
 */
export async function* followStoredRun(
  deps: StoreDeps,
  { caller, run: asked, signal }: { caller: Caller; run: RunObject; signal: AbortSignal },
): AsyncGenerator<RunEvent> {
  const place = { threadId: asked.thread_id, runId: asked.id };
  for (;;) {
    const { run } = (await requireRun(deps, caller, place)).body;
    if (isEnded(run.status) || run.status === "requires_action") {
      for await (const step of stepsOf(deps, caller, run)) yield* eventsOf(deps, caller, step);
      yield { event: `thread.run.${run.status}`, data: run };
      return;
    }
    await pause(deps.clock, POLL_MS, signal);
    if (signal.aborted) return;
  }
}

async function* stepsOf({ records }: StoreDeps, { teamId }: Caller, { id: parentId }: RunObject): AsyncGenerator<StepObject> {
  for (let after: string | undefined; ; ) {
    const page: { records: RecordOf<StepObject>[]; hasMore: boolean } = await records.list(teamId, "run_step", {
      ...{ parentId, after, order: "asc", limit: PAGE },
    });
    for (const { body } of page.records) yield body;
    if (!page.hasMore) return;
    after = page.records.at(-1)?.id;
  }
}

async function* eventsOf({ records }: StoreDeps, { teamId }: Caller, step: StepObject): AsyncGenerator<RunEvent> {
  for (const name of ["created", "in_progress"]) yield { event: `thread.run.step.${name}`, data: step };
  const { step_details: details } = step;
  if (details.type === "message_creation") {
    const message = await records.get<MessageObject>(teamId, "message", details.message_creation.message_id);
    if (message) yield* messageEvents(message.body);
  }
  if (step.status !== "in_progress") yield { event: `thread.run.step.${step.status}`, data: step };
}

/** Clients put a message together from its deltas: here it is one. */
function* messageEvents(message: MessageObject): Generator<RunEvent> {
  const { id, status } = message;
  const begun = { ...message, status: "in_progress", content: [], completed_at: null };
  for (const name of ["created", "in_progress"]) yield { event: `thread.message.${name}`, data: begun };
  const content = message.content.map((block, index) => ({ index, ...block }));
  yield { event: "thread.message.delta", data: { id, object: "thread.message.delta", delta: { content } } };
  yield { event: `thread.message.${status}`, data: message };
}
