import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "../deps.ts";
import { askInTurn } from "../participants/ask-in-turn.ts";
import type { ParticipantProblem } from "../participants/participant-problem.ts";

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
  const open = new Set(participants);
  const away = new Set<Participant>();
  const hasQuorum = (): boolean => need !== undefined && need.count() >= need.least;
  const isLost = (): boolean => need !== undefined && need.count() + open.size - away.size < need.least;
  try {
    await askInTurn<Answer>(run, participants, {
      inTime,
      ask: (participant) => ask(participant, inTime),
      isOver: (participant, { retryAfterMs }, tries) => {
        // One that says when to ask again is busy, and alive.
        const isAway = retryAfterMs === undefined;
        if (isAway && tries >= ATTEMPTS_BEFORE_LOSS) away.add(participant);
        else away.delete(participant);
        if (!isAway) return false;
        return (tries >= ATTEMPTS_AFTER_QUORUM && hasQuorum()) || (tries >= ATTEMPTS_BEFORE_LOSS && isLost());
      },
      settle: async (participant, result, durationMs) => {
        await settle(participant, result, durationMs);
        open.delete(participant);
        away.delete(participant);
        if (isEnough() || isLost()) closed.abort();
      },
    });
  } finally {
    stop();
    closed.abort();
  }
}
