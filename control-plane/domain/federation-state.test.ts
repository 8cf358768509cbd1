import { type FederationStep, isOver, requirePhase, stateAfter } from "./federation-state.ts";
import type { FederationState } from "./training-records.ts";

const STATES: FederationState[] = ["created", "waiting", "running", "paused", "completed", "failed", "stopped"];
const STEPS: FederationStep[] = ["wait", "run", "pause", "resume", "stop", "complete", "fail"];

function possible(state: FederationState): Partial<Record<FederationStep, FederationState>> {
  const found: Partial<Record<FederationStep, FederationState>> = {};
  for (const step of STEPS) {
    try {
      found[step] = stateAfter(state, step);
    } catch {
      // Not possible.
    }
  }
  return found;
}

test("every state has these steps and no others", () => {
  const open = { wait: "waiting", run: "running", pause: "paused", stop: "stopped", fail: "failed" };
  expect(Object.fromEntries(STATES.map((state) => [state, possible(state)]))).toEqual({
    created: open,
    waiting: { ...open, complete: "completed" },
    running: { ...open, complete: "completed" },
    paused: { resume: "waiting", stop: "stopped" },
    completed: {},
    failed: {},
    stopped: {},
  });
});

test("what is over stays over, and a refusal says when the step is possible", () => {
  expect(STATES.filter(isOver)).toEqual(["completed", "failed", "stopped"]);
  expect(() => stateAfter("completed", "pause")).toThrow(
    "A federation that is completed cannot pause; it can while it is created or waiting or running.",
  );
});

test("a round goes forwards; only who takes up an evaluation aggregates again", () => {
  expect(requirePhase("selecting", "training")).toBe("training");
  expect(requirePhase("training", "training")).toBe("training");
  expect(requirePhase("evaluating", "aggregating")).toBe("aggregating");
  expect(() => requirePhase("aggregating", "training")).toThrow("cannot be training");
  expect(() => requirePhase("committed", "training")).toThrow("cannot be training");
  expect(() => requirePhase("training", "committed")).toThrow("cannot be committed");
});
