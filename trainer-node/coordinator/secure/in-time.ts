import { pause } from "../../../common/clock.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "../deps.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";

const RETRY_MS = { first: 200, max: 5000 };
/** Calls of a participant that cannot be reached, after which the others do not wait for it if they suffice. */
const ATTEMPTS_AFTER_QUORUM = 3;

/**
 * Asks all participants for one step, with a limit on concurrency, until all have answered, `isEnough` returns true, or the deadline
 * passes. Unreachable and busy participants are asked again; an unreachable one not for long once `hasQuorum` returns true, so that a node
 * that died does not cost the others the whole deadline.
 */
export async function askAll<Answer>(
  run: FederationRun,
  participants: readonly Participant[],
  {
    ask,
    settle,
    isEnough = () => false,
    hasQuorum = () => false,
  }: {
    ask: (participant: Participant, signal: AbortSignal) => Promise<Answer>;
    settle: (participant: Participant, result: Answer | ParticipantProblem, durationMs: number) => Promise<void> | void;
    isEnough?: () => boolean;
    hasQuorum?: () => boolean;
  },
): Promise<void> {
  const { deps, settings, signal } = run;
  const closed = new AbortController();
  const stop = deps.clock.after(settings.deadlineMs, () => closed.abort());
  const inTime = AbortSignal.any([signal, closed.signal]);
  const waiting = [...participants];
  const worker = async (): Promise<void> => {
    for (let participant = waiting.shift(); participant; participant = waiting.shift()) {
      const begunMs = deps.clock.monotonicMs();
      const one = participant;
      const result = await persist(run, { inTime, hasQuorum, ask: () => ask(one, inTime) });
      signal.throwIfAborted();
      await settle(one, result, deps.clock.monotonicMs() - begunMs);
      if (isEnough()) closed.abort();
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(deps.callsMax, waiting.length) }, worker));
  } finally {
    stop();
    closed.abort();
  }
}

/** The problem of a participant that missed the deadline. */
export const LATE = "it had not answered when the round was closed";

async function persist<Answer>(
  { deps, signal }: FederationRun,
  { inTime, hasQuorum, ask }: { inTime: AbortSignal; hasQuorum: () => boolean; ask: () => Promise<Answer> },
): Promise<Answer | ParticipantProblem> {
  for (let tries = 1; ; tries++) {
    try {
      inTime.throwIfAborted();
      return await ask();
    } catch (thrown) {
      signal.throwIfAborted();
      if (inTime.aborted) return new ParticipantProblem(LATE, { again: false });
      if (!(thrown instanceof ParticipantProblem)) throw thrown;
      // One that says when to ask again is busy, and alive.
      const isAway = thrown.retryAfterMs === undefined;
      if (!thrown.again || (isAway && tries >= ATTEMPTS_AFTER_QUORUM && hasQuorum())) return thrown;
      const delayMs = thrown.retryAfterMs ?? Math.min(RETRY_MS.max, RETRY_MS.first * 2 ** (tries - 1));
      await pause(deps.clock, delayMs, inTime);
    }
  }
}
