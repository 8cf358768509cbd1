import { AppError } from "../../../common/errors.ts";
import type { LastError, MessageObject, RunObject, RunState, StepObject, TokenUsage } from "../../schemas/stored/assistant-answers.ts";
import type { RunBody } from "./bodies.ts";
import { seconds } from "./objects.ts";

// The state machine of a run. Pure functions.

/** The states that can follow each state. A new state does not compile without a row. */
const NEXT: Readonly<Record<RunState, readonly RunState[]>> = {
  queued: ["in_progress", "cancelling", "failed", "expired"],
  in_progress: ["in_progress", "requires_action", "cancelling", "cancelled", "failed", "completed", "incomplete", "expired"],
  requires_action: ["queued", "cancelled", "expired", "failed"],
  cancelling: ["cancelled", "expired", "failed"],
  cancelled: [],
  failed: [],
  completed: [],
  incomplete: [],
  expired: [],
};

export function isEnded(state: RunState): boolean {
  return NEXT[state].length === 0;
}

/** How a run ends. */
export type Ending =
  | { readonly status: "completed" | "cancelled" | "expired" }
  | { readonly status: "incomplete"; readonly reason: "max_completion_tokens" | "max_prompt_tokens" }
  | { readonly status: "failed"; readonly error: LastError };

export function moved(run: RunObject, status: RunState, change: Partial<RunObject> = {}): RunObject {
  if (!NEXT[run.status].includes(status)) throw new Error(`a run cannot go from ${run.status} to ${status}`);
  return { ...run, required_action: null, ...change, status };
}

export function begun(run: RunObject, nowMs: number): RunObject {
  return moved(run, "in_progress", { started_at: run.started_at ?? seconds(nowMs) });
}

export function ended(body: RunBody, ending: Ending, nowMs: number): RunBody {
  const at = seconds(nowMs);
  const run = moved(body.run, ending.status, {
    usage: usageOf(body.used),
    expires_at: null,
    ...(ending.status === "completed" || ending.status === "incomplete" ? { completed_at: at } : {}),
    ...(ending.status === "cancelled" ? { cancelled_at: at } : {}),
    ...(ending.status === "failed" ? { failed_at: at, last_error: ending.error } : {}),
    ...(ending.status === "incomplete" ? { incomplete_details: { reason: ending.reason } } : {}),
  });
  // Only a run that continues needs its turns.
  return { ...body, run, turns: [], openStepId: null };
}

export function usageOf({ prompt, completion }: RunBody["used"]): TokenUsage {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

const STEP_ENDS: Readonly<Record<Ending["status"], StepObject["status"]>> = {
  completed: "completed",
  incomplete: "completed",
  cancelled: "cancelled",
  expired: "expired",
  failed: "failed",
};

/** The step after its run, or the step alone, has ended. */
export function endedStep(step: StepObject, ending: Ending, nowMs: number): StepObject {
  const status = STEP_ENDS[ending.status];
  const error = ending.status === "failed" ? { last_error: ending.error } : {};
  return { ...step, status, [`${status}_at`]: seconds(nowMs), ...error };
}

const MESSAGE_REASONS: Readonly<Record<Exclude<Ending["status"], "completed">, string>> = {
  incomplete: "max_tokens",
  cancelled: "run_cancelled",
  expired: "run_expired",
  failed: "run_failed",
};

export function endedMessage(message: MessageObject, ending: Ending & { readonly filtered?: boolean }, nowMs: number): MessageObject {
  if (ending.status === "completed") return { ...message, status: "completed", completed_at: seconds(nowMs) };
  const reason = ending.filtered ? "content_filter" : MESSAGE_REASONS[ending.status];
  return { ...message, status: "incomplete", incomplete_details: { reason }, incomplete_at: seconds(nowMs) };
}

const BAD_PROMPT: ReadonlySet<string> = new Set([
  "CONTEXT_LENGTH_EXCEEDED",
  "CONTENT_POLICY_VIOLATION",
  "INVALID_REQUEST",
  "UNSUPPORTED_PARAMETER",
  "UNPROCESSABLE",
  "VALIDATION_ERROR",
]);

/** Why a run failed: one of OpenAI's three codes, and the message. */
export function lastErrorOf(error: AppError): LastError {
  const isLimit = error.code === "RATE_LIMIT_EXCEEDED" || error.code === "QUOTA_EXCEEDED";
  const code = isLimit ? "rate_limit_exceeded" : BAD_PROMPT.has(error.code) ? "invalid_prompt" : "server_error";
  return { code, message: error.message };
}

/** The error of a request that the run's state does not allow. */
export function wrongState(message: string, param?: string): AppError {
  return new AppError("INVALID_REQUEST", message, param === undefined ? {} : { param });
}
