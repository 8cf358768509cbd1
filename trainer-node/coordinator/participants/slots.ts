import type { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { CoordinatorDeps } from "../deps.ts";

/** How often the coordinator checks that a joined participant with a slot is still there. */
const PRESENCE_CHECK_MS = 1000;

/** A limit on concurrent work. Slots are given in the order in which they are asked for. */
export interface Slots {
  /** Waits for a slot, and returns a function that gives it back. Calling that function again has no effect. */
  take(): Promise<() => void>;
}

/** Creates the slots of one piece of work. */
export function createSlots(count: number): Slots {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    take: async () => {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const next = waiting.shift();
        if (next) next();
        else free++;
      };
    },
  };
}

/**
 * Waits for a slot, and returns the function that gives it back. A joined participant needs a slot only while it is there: for one that is
 * away, work waits in the queue without a call.
 */
export async function takeSlot(
  { participants, clock }: Pick<CoordinatorDeps, "participants" | "clock">,
  slots: Slots,
  participant: Participant,
): Promise<() => void> {
  const isAway = (): boolean => participants.isPresent?.(participant) === false;
  if (isAway()) return () => {};
  const release = await slots.take();
  let stopChecking: () => void = () => {};
  const check = (): void => {
    if (isAway()) release();
    else stopChecking = clock.after(PRESENCE_CHECK_MS, check);
  };
  if (participants.isPresent?.(participant) !== undefined) check();
  return () => {
    stopChecking();
    release();
  };
}
