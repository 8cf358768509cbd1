import type { Clock } from "../../common/clock.ts";

/** A clock that only moves when a test advances it. */
export interface FakeClock extends Clock {
  /** Moves time, wakes sleepers in order, and runs what they started. */
  advance(milliseconds: number): Promise<void>;
  /** How many sleepers there are. */
  waiting(): number;
}

interface Sleeper {
  atMs: number;
  wake: () => void;
}

export function fakeClock(startMs = 1_700_000_000_000): FakeClock {
  let elapsedMs = 0;
  let sleepers: Sleeper[] = [];
  return {
    now: () => startMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    sleep: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper = { atMs: elapsedMs + milliseconds, wake: resolve };
        sleepers.push(sleeper);
        signal?.addEventListener("abort", () => {
          sleepers = sleepers.filter((other) => other !== sleeper);
          reject(signal.reason);
        });
      }),
    after: (milliseconds, wake) => {
      const sleeper = { atMs: elapsedMs + milliseconds, wake };
      sleepers.push(sleeper);
      return () => {
        sleepers = sleepers.filter((other) => other !== sleeper);
      };
    },
    waiting: () => sleepers.length,
    advance: async (milliseconds) => {
      const untilMs = elapsedMs + milliseconds;
      await settleWork();
      for (;;) {
        const next = sleepers.filter((sleeper) => sleeper.atMs <= untilMs).sort((left, right) => left.atMs - right.atMs)[0];
        if (!next) break;
        sleepers = sleepers.filter((sleeper) => sleeper !== next);
        elapsedMs = Math.max(elapsedMs, next.atMs);
        next.wake();
        await settleWork();
      }
      elapsedMs = untilMs;
      await settleWork();
    },
  };
}

/** Runs all pending promise callbacks. */
export async function settleWork(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
