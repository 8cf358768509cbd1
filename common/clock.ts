import { setTimeout as delay } from "node:timers/promises";
import { Deadlines } from "./deadlines.ts";

/** Time, handed in. Nothing outside this file reads a clock, so that tests and the simulation can own it. */
export interface Clock {
  /** Wall time in milliseconds since 1970; may jump. For records people read. */
  now(): number;
  /** Milliseconds that only ever grow; for durations, deadlines and ages. */
  monotonicMs(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once, later, unless the returned function is called first. Costs less than a sleep that is nearly always broken off. */
  after(milliseconds: number, wake: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (milliseconds, signal) => {
    await delay(milliseconds, undefined, signal ? { signal } : {});
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

/** A call's time limits are long, whole and the same for thousands of calls: those share a timer. */
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
