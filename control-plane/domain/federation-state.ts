import { AppError } from "../../common/errors.ts";
import type { FederationState, RoundPhase } from "./training-records.ts";

/** A state transition of a federation. */
export type FederationStep = "wait" | "run" | "pause" | "resume" | "stop" | "complete" | "fail" | "extend";

const OVER: readonly FederationState[] = ["completed", "failed", "stopped"];

const STEPS: Readonly<Record<FederationStep, { from: readonly FederationState[]; to: FederationState }>> = {
  wait: { from: ["created", "waiting", "running"], to: "waiting" },
  run: { from: ["created", "waiting", "running"], to: "running" },
  pause: { from: ["created", "waiting", "running"], to: "paused" },
  // It waits for its participants again, because some may be gone.
  resume: { from: ["paused"], to: "waiting" },
  stop: { from: ["created", "waiting", "running", "paused"], to: "stopped" },
  // Also from waiting: a coordinator may commit the last round and die before it reports the end.
  complete: { from: ["waiting", "running"], to: "completed" },
  fail: { from: ["created", "waiting", "running"], to: "failed" },
  // A federation that was stopped stays stopped.
  extend: { from: ["completed", "failed"], to: "waiting" },
};

export const isOver = (state: FederationState): boolean => OVER.includes(state);

/** The state after a step. Throws RECORD_CHANGED if the step is not possible in this state. */
export function stateAfter(state: FederationState, step: FederationStep): FederationState {
  const { from, to } = STEPS[step];
  if (from.includes(state)) return to;
  throw new AppError("RECORD_CHANGED", `A federation that is ${state} cannot ${step}; it can while it is ${from.join(" or ")}.`);
}

const PHASES: readonly RoundPhase[] = ["selecting", "training", "aggregating", "evaluating"];

/** Phases only advance. A coordinator that takes over a round may enter the current phase again. */
export function requirePhase(current: RoundPhase, next: string): RoundPhase {
  const [from, to] = [PHASES.indexOf(current), PHASES.indexOf(next as RoundPhase)];
  // After a crash during evaluation, the next coordinator aggregates the same stored updates to the same bytes.
  const again = next === "aggregating" && current === "evaluating";
  if (from >= 0 && to >= 0 && (to >= from || again)) return next as RoundPhase;
  throw new AppError("RECORD_CHANGED", `A round that is ${current} cannot be ${next.slice(0, 50)}.`);
}
