import type { Clock } from "../../../common/clock.ts";
import { systemClock } from "../../../common/clock.ts";
import type { FederationRun } from "../deps.ts";
import { createJoinedWork } from "../participants/joined-work.ts";
import { createProgressReports } from "./report-progress.ts";

/** A clock whose timers run when the test says so. */
function openReports() {
  const timers: (() => void)[] = [];
  const clock = {
    after: (_ms: number, run: () => void) => {
      timers.push(run);
      return () => void timers.splice(timers.indexOf(run), 1);
    },
  } as Partial<Clock> as Clock;
  const sent: unknown[] = [];
  const control = {
    reportProgress: async (round: number, progress: object) => {
      sent.push([round, progress]);
      throw new Error("the control plane is away");
    },
  };
  const reports = createProgressReports({ deps: { clock }, control } as unknown as FederationRun, 3);
  return { reports, timers, sent };
}

test("what participants report within a second is one report, with the newest of each", async () => {
  const { reports, timers, sent } = openReports();
  const [first, second] = [reports.of("p1"), reports.of("p2")];
  first(0.1);
  second(0.2);
  first(0.3);
  expect(timers).toHaveLength(1);
  timers.shift()?.();
  expect(sent).toEqual([[3, { p1: 0.3, p2: 0.2 }]]);
  // A lost report costs nothing: the next has the news.
  second(0.5);
  timers.shift()?.();
  expect(sent).toHaveLength(2);
  await reports.stop();
});

test("after the end of the collection nothing is reported", async () => {
  const { reports, timers, sent } = openReports();
  reports.of("p1")(0.5);
  await reports.stop();
  expect([timers, sent]).toEqual([[], []]);
});

test("a joined participant reports on the task that a round waits for, and on no other", async () => {
  const work = createJoinedWork({ clock: systemClock });
  const ended = new AbortController();
  const progress: number[] = [];
  const task = { parameters: "", dataset: null, config: {}, key: "k", roundId: "fed_1/1", clientId: "p1" };
  const node = { url: "join:fed_1/p1", secret: "", token: "", tenantId: "" };
  const trained = work.participants.train(node, { ...task, onProgress: (fraction) => progress.push(fraction) }, ended.signal);
  const given = await work.next("fed_1/p1", { waitMs: 1000, signal: ended.signal, capabilities: new Set() });
  expect(given).toMatchObject({ operation: "train", round_id: "fed_1/1", client_id: "p1" });
  expect(work.progress("fed_1/p1", given?.id ?? "", 0.5)).toBe(true);
  expect(work.progress("fed_1/p1", "another", 0.7)).toBe(false);
  expect(progress).toEqual([0.5]);
  ended.abort(new Error("over"));
  await expect(trained).rejects.toThrow("over");
});
