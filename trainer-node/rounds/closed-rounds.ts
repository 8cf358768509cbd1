import type { Clock } from "../../common/clock.ts";

/** Rounds that a coordinator has closed; calls for them are refused. Entries live for a day, and the oldest are removed first. */
export interface ClosedRounds {
  close(round: string): void;
  open(round: string): void;
  list(): readonly string[];
}

const KEEP_MS = 24 * 3_600_000;
/** The list is passed to a thread with every call, so it must stay short. */
const ROUNDS_MAX = 1000;

/** Creates the list of closed rounds, in memory. */
export function createClosedRounds({ clock }: { clock: Clock }): ClosedRounds {
  const closedAt = new Map<string, number>();
  const forgetOld = (): void => {
    for (const [round, atMs] of closedAt) {
      if (closedAt.size <= ROUNDS_MAX && clock.monotonicMs() - atMs <= KEEP_MS) return;
      closedAt.delete(round);
    }
  };
  return {
    close: (round) => {
      // Deleting first moves the key to the end of the map's order.
      closedAt.delete(round);
      closedAt.set(round, clock.monotonicMs());
      forgetOld();
    },
    open: (round) => void closedAt.delete(round),
    list: () => {
      forgetOld();
      return [...closedAt.keys()];
    },
  };
}
