import { setTimeout as sleep } from "node:timers/promises";
import { RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { model, openRunFixture, type Script } from "./run-fixture.ts";
import { openRoundLayouts } from "./updates/round-layouts.ts";

const fixture = openRunFixture();
afterAll(() => fixture.close());

const SLOW_MS = 150;

/** One number more than the others have, from the participant that answers at once. */
const early =
  (...ids: string[]): Script["train"] =>
  async (id) => {
    if (ids.includes(id)) return { model: model(9, 9, 9), samples: 10 };
    await sleep(SLOW_MS);
    return { model: model(1, 1), samples: 10 };
  };

const statesOf = (round: { participants: readonly { participantId: string; state: string }[] } | undefined) =>
  round?.participants.map(({ participantId, state }) => `${participantId} ${state}`);
const OTHERS = ["p2 accepted", "p3 accepted", "p4 accepted", "p5 accepted"];
const five = { participants: 5 };

test.each([{ strategy: "fedavg", minResults: 1 }, { strategy: "median", minResults: 4 }, { strategy: { name: "fedbuff", buffer: 5 } }])(
  "the first answer of a round without a base does not decide which tensors all must have: %j",
  async (settings) => {
    const { problem, rounds, records } = await fixture.run(settings, { train: early("p1") }, five);
    expect(problem).toBeUndefined();
    expect(statesOf(rounds[0])).toEqual(["p1 failed", ...OTHERS]);
    expect(rounds[0]?.participants[0]?.reason).toContain("SHAPE_MISMATCH");
    expect(rounds[0]?.participants[0]?.contribution).toBe(0);
    expect(await fixture.valuesOf(records[0]?.result ?? "")).toHaveLength(2);
    expect(records[0]?.updates).toHaveLength(4);
  },
);

test("a round that has enough results of different tensors goes on until enough of them fit", async () => {
  const settings = { fraction: 0.4, overSelect: 1, minResults: 2 };
  const { rounds } = await fixture.run(settings, { train: early("p1") }, five);
  const accepted = rounds[0]?.participants.filter(({ state }) => state === "accepted") ?? [];
  expect(accepted.length).toBeGreaterThanOrEqual(2);
  expect(accepted.map(({ participantId }) => participantId)).not.toContain("p1");
});

test("of as many updates of two kinds, those with more samples count, in any order of arrival", async () => {
  const train: Script["train"] = async (id) => {
    if (id === "p2") await sleep(SLOW_MS);
    return id === "p2" ? { model: model(1, 1), samples: 11 } : { model: model(9, 9, 9), samples: 10 };
  };
  const { rounds } = await fixture.run({ minResults: 1 }, { train });
  expect(statesOf(rounds[0])).toEqual(["p1 failed", "p2 accepted"]);
});

test("and of those with as many samples the least hash counts", async () => {
  const result = async (first: string) => {
    const train: Script["train"] = async (id) => {
      if (id !== first) await sleep(SLOW_MS);
      return { model: id === "p1" ? model(9, 9, 9) : model(1, 1), samples: 10 };
    };
    return (await fixture.run({ minResults: 1 }, { train })).records[0]?.result;
  };
  expect(await result("p1")).toBe(await result("p2"));
});

test("a coordinator that takes over decides by the updates that the first one recorded, too", async () => {
  const stored = async (participantId: string, bytes: Uint8Array) =>
    RoundParticipant.fromPartial({ participantId, state: "accepted", updateBlob: (await fixture.blobs.keepBytes(bytes)).sha256 });
  const accepted = [await stored("p1", model(9, 9, 9)), await stored("p2", model(1, 1)), await stored("p3", model(2, 2))];
  const recorded: RoundParticipant[] = [];
  const control = { recordResult: async (_round: number, result: RoundParticipant) => void recorded.push(result) };
  const run = { deps: { blobs: fixture.blobs }, control, federation: { headBlob: "" } } as never;
  const layouts = await openRoundLayouts(run, 1, accepted);
  expect(layouts.count()).toBe(2);
  await layouts.takeBackMisfits();
  // The blob of the update tells the control plane that it is the accepted one that failed.
  expect(recorded).toMatchObject([{ participantId: "p1", state: "failed", updateBlob: accepted[0]?.updateBlob }]);
  // Of those that were taken back before the first coordinator stopped, nothing is left to decide.
  expect((await openRoundLayouts(run, 1, accepted.slice(1))).count()).toBe(2);
});

test("an asynchronous round does not ask a participant again whose update does not fit its base", async () => {
  const settings = { strategy: { name: "fedbuff", buffer: 5 }, rounds: 2 };
  const { problem, asked, rounds } = await fixture.run(settings, { train: early("p1") }, { ...five, initial: model(0, 0) });
  expect(problem).toBeUndefined();
  expect(statesOf(rounds[1])).toEqual(["p1 failed", ...OTHERS]);
  expect(asked.filter(({ id }) => id === "p1").length).toBeLessThanOrEqual(3);
});
