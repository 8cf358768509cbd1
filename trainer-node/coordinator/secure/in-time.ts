import { pause } from "../../../common/clock.ts";
import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "../deps.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";

const RETRY_MS = { first: 200, max: 5000 };
/** Calls of a participant that cannot be reached, after which the others do not wait for it if they suffice. */
const ATTEMPTS_AFTER_QUORUM = 3;
/** Calls after which it is given up if the others do not suffice without it: about three seconds, in which a node may restart. */
const ATTEMPTS_BEFORE_LOSS = 5;

/** How many answers a step needs, and how many it has, those of an earlier coordinator included. */
interface Need {
  readonly least: number;
  count(): number;
}

/**
 * Asks all participants for one step, with a limit on concurrency, until all have answered, `isEnough` returns true, or the deadline
 * passes. Unreachable and busy participants are asked again; an unreachable one not for long if the others suffice, or cannot suffice
 * without it, so that a node that died does not cost the others the whole deadline. Nobody is waited for once too few are left.
 */
export async function askAll<Answer>(
  run: FederationRun,
  participants: readonly Participant[],
  {
    ask,
    settle,
    isEnough = () => false,
    need,
  }: {
    ask: (participant: Participant, signal: AbortSignal) => Promise<Answer>;
    settle: (participant: Participant, result: Answer | ParticipantProblem, durationMs: number) => Promise<void> | void;
    isEnough?: () => boolean;
    need?: Need;
  },
): Promise<void> {
  const { deps, settings, signal } = run;
  const closed = new AbortController();
  const stop = deps.clock.after(settings.deadlineMs, () => closed.abort());
  const inTime = AbortSignal.any([signal, closed.signal]);
  const waiting = [...participants];
  const open = new Set(participants);
  const away = new Set<Participant>();
  const hasQuorum = (): boolean => need !== undefined && need.count() >= need.least;
  const isLost = (): boolean => need !== undefined && need.count() + open.size - away.size < need.least;
  const worker = async (): Promise<void> => {
    for (let participant = waiting.shift(); participant; participant = waiting.shift()) {
      const begunMs = deps.clock.monotonicMs();
      const one = participant;
      const isOver: IsOver = ({ retryAfterMs }, tries) => {
        // One that says when to ask again is busy, and alive.
        const isAway = retryAfterMs === undefined;
        if (isAway && tries >= ATTEMPTS_BEFORE_LOSS) away.add(one);
        else away.delete(one);
        if (!isAway) return false;
        return (tries >= ATTEMPTS_AFTER_QUORUM && hasQuorum()) || (tries >= ATTEMPTS_BEFORE_LOSS && isLost());
      };
      const result = await persist(run, { inTime, isOver, ask: () => ask(one, inTime) });
      signal.throwIfAborted();
      await settle(one, result, deps.clock.monotonicMs() - begunMs);
      open.delete(one);
      away.delete(one);
      if (isEnough() || isLost()) closed.abort();
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

/** Whether a participant with this problem is not asked again after so many calls. */
type IsOver = (problem: ParticipantProblem, tries: number) => boolean;

async function persist<Answer>(
  { deps, signal }: FederationRun,
  { inTime, isOver, ask }: { inTime: AbortSignal; isOver: IsOver; ask: () => Promise<Answer> },
): Promise<Answer | ParticipantProblem> {
  for (let tries = 1; ; tries++) {
    try {
      inTime.throwIfAborted();
      return await ask();
    } catch (thrown) {
      signal.throwIfAborted();
      if (inTime.aborted) return new ParticipantProblem(LATE, { again: false });
      if (!(thrown instanceof ParticipantProblem)) throw thrown;
      if (!thrown.again || isOver(thrown, tries)) return thrown;
      const delayMs = thrown.retryAfterMs ?? Math.min(RETRY_MS.max, RETRY_MS.first * 2 ** (tries - 1));
      await pause(deps.clock, delayMs, inTime);
    }
  }
}
