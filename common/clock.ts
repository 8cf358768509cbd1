import { setTimeout as delay } from "node:timers/promises";

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
    const timer = setTimeout(wake, milliseconds);
    return () => clearTimeout(timer);
  },
};
