import { systemClock as clock } from "../../../common/clock.ts";
import { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import type { FederationRun } from "../deps.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import { askAll } from "./in-time.ts";

test("participants that cannot be reached do not keep the others from their turn, though they are more than the calls at a time", async () => {
  const members = Array.from({ length: 8 }, (_, index) => Participant.fromPartial({ id: `p${index + 1}` }));
  const answered: string[] = [];
  const problems: string[] = [];
  const run = {
    deps: { clock, callsMax: 2, participants: {} },
    settings: { deadlineMs: 5000 },
    signal: new AbortController().signal,
  } as unknown as FederationRun;
  const beganMs = clock.monotonicMs();
  await askAll<string>(run, members, {
    ask: async ({ id }) => {
      if (Number(id.slice(1)) <= 4) throw new ParticipantProblem("it cannot be reached", { again: true });
      return id;
    },
    settle: ({ id }, result) => void (result instanceof ParticipantProblem ? problems : answered).push(id),
    need: { least: 4, count: () => answered.length },
  });
  expect(answered).toEqual(["p5", "p6", "p7", "p8"]);
  expect(problems.toSorted()).toEqual(["p1", "p2", "p3", "p4"]);
  expect(clock.monotonicMs() - beganMs).toBeLessThan(3000);
});
