import type { Clock } from "../../common/clock.ts";
import { systemRandom as random } from "../../common/random.ts";
import { drainJobs } from "./drain-jobs.ts";
import { createJobStore, type Job } from "./job-store.ts";

/** A clock that a sleep moves; `at` is called at every step. */
function steppedClock(at: (nowMs: number) => void = () => {}): Clock {
  let nowMs = 0;
  return {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async (milliseconds) => {
      nowMs += milliseconds;
      at(nowMs);
    },
    after: () => () => {},
  };
}

const answer = { body: new Uint8Array(1), head: undefined };

function storeOf(at: (nowMs: number, job: Job, end: () => void) => void) {
  const clock = steppedClock((nowMs) => at(nowMs, job, end));
  const jobs = createJobStore({ clock, random, limits: { jobsMax: 2, answerBytesMax: 10, keepMs: 1e9 } });
  const job = jobs.create("train", "") as Job;
  const end = () => jobs.update(job, { state: { status: "succeeded", answer, type: "json" } });
  return { clock, jobs, job };
}

test("a node without running jobs does not wait, not even for results that no caller fetched", async () => {
  const { clock, jobs, job } = storeOf(() => {});
  jobs.update(job, { state: { status: "cancelled" } });
  expect(await drainJobs(jobs, { clock, drainMs: 60_000 })).toBe(60_000);
});

test("a stopping node waits until a running job has ended and its result was fetched", async () => {
  const { clock, jobs } = storeOf((nowMs, job, end) => {
    if (nowMs === 1000) end();
    if (nowMs === 3000) job.isFetched = true;
  });
  expect(await drainJobs(jobs, { clock, drainMs: 60_000 })).toBe(57_000);
});

test("a result that is not fetched is kept for 5 s, and a job that does not end is waited for as long as the drain", async () => {
  const unfetched = storeOf((nowMs, _job, end) => nowMs === 1000 && end());
  const restMs = await drainJobs(unfetched.jobs, { clock: unfetched.clock, drainMs: 60_000 });
  expect(restMs).toBeLessThan(54_000);
  expect(restMs).toBeGreaterThan(53_900);
  const endless = storeOf(() => {});
  expect(await drainJobs(endless.jobs, { clock: endless.clock, drainMs: 2000 })).toBe(0);
});
