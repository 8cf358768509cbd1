import type { Health } from "./health.ts";
import type { Isolation } from "./route-call.ts";
import type { RunContext } from "./route-run.ts";

/** A context whose run leaves the health of deployments, the affinity of keys and the retries of groups as they are for others. */
export function isolatedContext(context: RunContext, isolation: Isolation): RunContext {
  const { health, budgetOf } = context;
  return {
    ...context,
    health: isolation === "whole" ? NO_HEALTH : withoutOutcome(health),
    affinity: { preferred: () => undefined, served: () => {} },
    budgetOf: (configuredName) => budgetOf(`${configuredName} isolated`),
    onFailed: undefined,
  };
}

/** Every attempt ends as if its client had left. */
function withoutOutcome(health: Health): Health {
  const ended: Health["cancelled"] = (ticket) => health.cancelled(ticket);
  return { ...health, succeeded: ended, failed: ended };
}

const IDLE = {
  availability: { state: "closed" },
  inFlight: 0,
  requestsThisMinute: 0,
  tokensThisMinute: 0,
  minuteLeftMs: 0,
  streamLatency: 0,
  wholeLatency: 0,
} as const;

/** Every deployment is free, and nothing is remembered. */
const NO_HEALTH: Health = {
  begin: (target) => ({ target, startedMs: 0 }),
  succeeded: () => {},
  failed: () => {},
  cancelled: () => {},
  stateOf: () => undefined,
  read: () => IDLE,
  loadsOf: (targets) => targets.map(() => ({ inFlight: 0, minute: 0, tokens: 0 })),
  keep: () => {},
};
