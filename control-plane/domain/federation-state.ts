import { AppError } from "../../common/errors.ts";
import type { FederationState, RoundPhase } from "./training-records.ts";

/** What can happen to a federation. */
export type FederationStep = "wait" | "run" | "pause" | "resume" | "stop" | "complete" | "fail";

const OVER: readonly FederationState[] = ["completed", "failed", "stopped"];

const STEPS: Readonly<Record<FederationStep, { from: readonly FederationState[]; to: FederationState }>> = {
  wait: { from: ["created", "waiting", "running"], to: "waiting" },
  run: { from: ["created", "waiting", "running"], to: "running" },
  pause: { from: ["created", "waiting", "running"], to: "paused" },
  // It waits for its participants again: who knows who is still there.
  resume: { from: ["paused"], to: "waiting" },
  stop: { from: ["created", "waiting", "running", "paused"], to: "stopped" },
  // Also while it waits: its last round may be committed by a coordinator that died before it could say that this is the end.
  complete: { from: ["waiting", "running"], to: "completed" },
  fail: { from: ["created", "waiting", "running"], to: "failed" },
};

export const isOver = (state: FederationState): boolean => OVER.includes(state);

/** The state after a step; refused where the step is not possible. */
export function stateAfter(state: FederationState, step: FederationStep): FederationState {
  const { from, to } = STEPS[step];
  if (from.includes(state)) return to;
  throw new AppError("RECORD_CHANGED", `A federation that is ${state} cannot ${step}; it can while it is ${from.join(" or ")}.`);
}

const PHASES: readonly RoundPhase[] = ["selecting", "training", "aggregating", "evaluating"];

/** A round goes forwards; a coordinator that takes up another's work may begin a phase again. */
export function requirePhase(current: RoundPhase, next: string): RoundPhase {
  const [from, to] = [PHASES.indexOf(current), PHASES.indexOf(next as RoundPhase)];
  // One that was killed while it evaluated aggregates again, from the same stored updates to the same bytes.
  const again = next === "aggregating" && current === "evaluating";
  if (from >= 0 && to >= 0 && (to >= from || again)) return next as RoundPhase;
  throw new AppError("RECORD_CHANGED", `A round that is ${current} cannot be ${next.slice(0, 50)}.`);
}
