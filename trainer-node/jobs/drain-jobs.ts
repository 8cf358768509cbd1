import type { Clock } from "../../common/clock.ts";
import type { Job, JobStore } from "./job-store.ts";

const LOOK_MS = 50;
/** A caller that asks for the state of its job every few seconds still gets the result. */
const FETCH_MS = 5000;

/**
 * Jobs are in memory only: a stopping node waits until the running ones have ended and their results were fetched, and answers meanwhile.
 * Returns how much of `drainMs` is left.
 */
export async function drainJobs(jobs: Pick<JobStore, "active">, { clock, drainMs }: { clock: Clock; drainMs: number }): Promise<number> {
  const untilMs = clock.monotonicMs() + drainMs;
  const running = jobs.active();
  const isOver = ({ finishedMs, isFetched }: Job) => finishedMs !== undefined && (isFetched || clock.monotonicMs() - finishedMs > FETCH_MS);
  while (!running.every(isOver) && clock.monotonicMs() < untilMs) await clock.sleep(LOOK_MS);
  return Math.max(0, untilMs - clock.monotonicMs());
}
