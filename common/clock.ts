import { setTimeout as delay } from "node:timers/promises";
import { abortSignalOf, type CancelSignal } from "./cancel.ts";
import { Deadlines } from "./deadlines.ts";

/** The port for time. Services take a Clock instead of reading the time themselves, so that tests and the simulation control it. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. It may jump; it is for timestamps of records. */
  now(): number;
  /** Monotonic milliseconds, for durations, deadlines and ages. */
  monotonicMs(): number;
  sleep(milliseconds: number, signal?: CancelSignal): Promise<void>;
  /** Calls back once after the delay, unless the returned function is called first. It is cheaper than a sleep that is nearly always aborted. */
  after(milliseconds: number, wake: () => void): () => void;
}

/** Sleeps until the time is over or the signal aborts, whichever comes first. */
export function pause(clock: Pick<Clock, "sleep">, milliseconds: number, signal?: CancelSignal): Promise<void> {
  return clock.sleep(milliseconds, signal).catch((error: unknown) => {
    if (!signal?.aborted) throw error;
  });
}

/**
 * The time to the next beat of an interval, at least half of the interval away. What waits for beats of one interval in one process wakes up
 * together, once instead of many times.
 */
export function untilBeatMs(clock: Pick<Clock, "monotonicMs">, intervalMs: number): number {
  const leftMs = intervalMs - (clock.monotonicMs() % intervalMs);
  return leftMs < intervalMs / 2 ? leftMs + intervalMs : leftMs;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (milliseconds, signal) => {
    await delay(milliseconds, undefined, signal ? { signal: abortSignalOf(signal) } : {});
  },
  after: (milliseconds, wake) => {
    const shared = sharedFor(milliseconds);
    if (shared) {
      const deadline = shared.add(wake);
      return () => shared.delete(deadline);
    }
    const timer = setTimeout(wake, milliseconds);
    return () => clearTimeout(timer);
  },
};

type Shared = Deadlines<() => void>;

/** Time limits of calls are long, whole and equal for thousands of calls, so they share a timer. */
const SHARED_FROM_MS = 1000;
const SHARED_MAX = 64;
const shared = new Map<number, Shared>();

function sharedFor(milliseconds: number): Shared | undefined {
  if (milliseconds < SHARED_FROM_MS || !Number.isInteger(milliseconds)) return undefined;
  const known = shared.get(milliseconds);
  if (known || shared.size >= SHARED_MAX) return known;
  const made: Shared = new Deadlines(milliseconds, (wake) => wake());
  shared.set(milliseconds, made);
  return made;
}
