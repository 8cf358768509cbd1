import type { Clock } from "../../common/clock.ts";

/** Rounds a coordinator has closed: work for them comes too late. Kept for a day, the oldest forgotten first. */
export interface ClosedRounds {
  close(round: string): void;
  open(round: string): void;
  list(): readonly string[];
}

const KEEP_MS = 24 * 3_600_000;
/** The list goes with every call, so it must stay short. */
const ROUNDS_MAX = 1000;

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
      // Again at the end of the line: a map keeps the place of a key it has.
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
