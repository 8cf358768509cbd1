import type { Clock } from "../../../common/clock.ts";
import { ParticipantProblem } from "./participant-problem.ts";

/** A participant that has not asked for work for this long is considered away. */
const AWAY_MS = 60_000;
/** An idle participant asks again at once, so that one that has not for this long has left or is busy. */
const GAP_MS = 5000;

/** Which participants that ask for their work are there. */
export interface Presence {
  see(place: string): void;
  /** Notes that a participant waits for work, until the returned function is called. */
  ask(place: string): (end: { hungUp: boolean }) => void;
  /** Whether a participant waits for work, or did a moment ago and has not hung up. */
  has(place: string): boolean;
  /** Throws for a participant that may have left long ago. */
  requireSeen(place: string): void;
}

export function createPresence(clock: Clock): Presence {
  const asking = new Map<string, number>();
  const seenMs = new Map<string, number>();
  const hungUp = new Set<string>();
  const see = (place: string): void => {
    seenMs.set(place, clock.monotonicMs());
    hungUp.delete(place);
  };
  const isSeenWithin = (place: string, ms: number) => clock.monotonicMs() - (seenMs.get(place) ?? Number.NEGATIVE_INFINITY) < ms;
  return {
    see,
    ask: (place) => {
      asking.set(place, (asking.get(place) ?? 0) + 1);
      see(place);
      return (end) => {
        asking.set(place, (asking.get(place) ?? 1) - 1);
        see(place);
        if (end.hungUp) hungUp.add(place);
      };
    },
    has: (place) => (asking.get(place) ?? 0) > 0 || (!hungUp.has(place) && isSeenWithin(place, GAP_MS)),
    requireSeen: (place) => {
      if (isSeenWithin(place, AWAY_MS)) return;
      throw new ParticipantProblem("it has not joined with its token, or it has not asked for work lately", { again: true });
    },
  };
}
