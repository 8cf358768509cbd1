import type { MessageObject, StepCall, StepObject } from "../../schemas/stored/assistant-answers.ts";
import type { ChatMessage } from "../../upstream/providers/provider.ts";
import type { RecordWrite } from "../records/records.ts";
import type { RunBody } from "./bodies.ts";
import type { Searched } from "./file-search.ts";
import type { ModelTurn } from "./model-turn.ts";
import type { RunEvent } from "./run-feed.ts";
import { endedMessage, endedStep, moved, usageOf } from "./run-states.ts";

/** The effects of an answer that calls tools: the writes of one commit, and the events to publish after it. */
export interface TurnPlan {
  /** The answer calls functions of the caller: the run waits for their outputs. */
  readonly isWaiting: boolean;
  readonly change: (body: RunBody) => RunBody;
  readonly writes: RecordWrite[];
  readonly events: RunEvent[];
}

interface PlanInput {
  /** The searches of the answer, by the ids of their calls. */
  readonly searches: ReadonlyMap<string, Searched>;
  readonly used: RunBody["used"];
  readonly nowMs: number;
}

const COMPLETED = { status: "completed" } as const;

export function turnWrites(turn: ModelTurn, { searches, used, nowMs }: PlanInput): TurnPlan {
  const calls = turn.calls.map((call) => ({ call, searched: searches.get(call.id) }));
  const asked = calls.filter(({ searched }) => !searched).map(({ call }) => call);
  const stepCalls: StepCall[] = calls.map(
    ({ call, searched }) => searched?.call ?? { id: call.id, type: "function", function: { ...call.function, output: null } },
  );
  const found: ChatMessage[] = calls.flatMap(({ call, searched }) =>
    searched ? [{ role: "tool", tool_call_id: call.id, content: searched.output }] : [],
  );
  const isWaiting = asked.length > 0;
  const { message, step } = spoken(turn, { nowMs, used });
  const open = { ...turn.toolStep(stepCalls), ...(step ? {} : { usage: usageOf(used) }) } as StepObject;
  const toolStep = isWaiting ? open : endedStep(open, COMPLETED, nowMs);
  const turns = [turn.asChatMessage, ...found];
  const lastSearch = [...searches.values()].at(-1)?.call.file_search.results;
  const citable = lastSearch ? { citable: lastSearch.map(({ file_id: id }) => id) } : {};
  return {
    isWaiting,
    change: (body) => {
      const continued = {
        ...body,
        ...citable,
        modelCalls: body.modelCalls + 1,
        turns: [...body.turns, ...turns],
        used: { prompt: body.used.prompt + used.prompt, completion: body.used.completion + used.completion },
      };
      if (!isWaiting) return continued;
      const action = { type: "submit_tool_outputs" as const, submit_tool_outputs: { tool_calls: asked } };
      return { ...continued, openStepId: toolStep.id, run: moved(body.run, "requires_action", { required_action: action }) };
    },
    writes: [...(message ? [createMessage(message)] : []), ...(step ? [createStep(step)] : []), createStep(toolStep)],
    events: [
      ...turn.cited,
      ...(message ? [{ event: "thread.message.completed", data: message }] : []),
      ...(step ? [{ event: "thread.run.step.completed", data: step }] : []),
      ...turn.takeDeferred(),
      ...(isWaiting ? [] : [{ event: "thread.run.step.completed", data: toolStep }]),
    ],
  };
}

/** The message that the model wrote before its tool calls. */
function spoken(turn: ModelTurn, { nowMs, used }: { nowMs: number; used: RunBody["used"] }) {
  const { said } = turn;
  if (!said) return { message: undefined, step: undefined };
  const message = endedMessage(said.message, COMPLETED, nowMs);
  return { message, step: { ...endedStep(said.step, COMPLETED, nowMs), usage: usageOf(used) } };
}

export function createMessage(message: MessageObject): RecordWrite {
  const { id, thread_id: parentId, created_at: createdAt } = message;
  return { type: "create", kind: "message", id, parentId, body: message, createdAtMs: createdAt * 1000 };
}

export function createStep(step: StepObject): RecordWrite {
  const { id, run_id: parentId, created_at: createdAt } = step;
  return { type: "create", kind: "run_step", id, parentId, body: step, createdAtMs: createdAt * 1000 };
}
