import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom as random } from "../../../common/random.ts";
import { federationSettings } from "../../../common/training/federation-settings.ts";
import { Participant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { createMemoryControl } from "../../simulation/memory-control.ts";
import { createAggregation } from "../aggregation.ts";
import { openBlobFolder } from "../blobs/blob-folder.ts";
import { runFederation } from "../run-federation.ts";
import { model, openRunFixture } from "../run-fixture.ts";
import { createJoinedWork } from "./joined-work.ts";
import { ParticipantProblem } from "./participant-problem.ts";

const fixture = openRunFixture();
const folder = mkdtempSync(join(tmpdir(), "tributary-absent-"));
const blobs = openBlobFolder({ folder, bytesMax: 1_000_000 });
const aggregation = createAggregation({ blobs, recordBytes: 1_000_000, logger: silentLogger });
afterAll(async () => {
  await Promise.all([fixture.close(), aggregation.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const CALLS_MAX = 2;
const signal = new AbortController().signal;

test.each([
  ["cannot be reached", undefined],
  ["are busy for longer than the round", 60_000],
])(
  "participants that %s do not keep the others from their turn, though they are more than the calls at a time",
  async (_what, retryAfterMs) => {
    const train = (id: string) => {
      if (Number(id.slice(1)) <= 3) throw new ParticipantProblem("it gives no answer", { again: true, retryAfterMs });
      return { model: model(1, 2), samples: 5 };
    };
    const settings = { minResults: 3, deadlineMs: 3000 };
    const { problem, rounds } = await fixture.run(settings, { train }, { participants: 6, callsMax: CALLS_MAX });
    expect(problem).toBeUndefined();
    expect(rounds[0]?.participants.filter(({ state }) => state === "accepted").map(({ participantId }) => participantId)).toEqual([
      "p4",
      "p5",
      "p6",
    ]);
  },
);

test("no more than the calls at a time are made", async () => {
  let [now, most] = [0, 0];
  const train = async () => {
    most = Math.max(most, ++now);
    await clock.sleep(20);
    now--;
    return { model: model(1, 2), samples: 5 };
  };
  const { problem } = await fixture.run({}, { train }, { participants: 7, callsMax: CALLS_MAX });
  expect([problem, most]).toEqual([undefined, CALLS_MAX]);
});

test("asynchronous rounds ask all participants, too, though more than the calls at a time cannot be reached", async () => {
  const train = (id: string) => {
    if (Number(id.slice(1)) <= 3) throw new ParticipantProblem("it cannot be reached", { again: true });
    return { model: model(1, 2), samples: 5 };
  };
  const settings = { strategy: { name: "fedbuff", buffer: 3 }, rounds: 2, deadlineMs: 3000 };
  const { problem, rounds } = await fixture.run(settings, { train }, { participants: 6, callsMax: CALLS_MAX });
  expect(problem).toBeUndefined();
  for (const { participants } of rounds)
    expect(participants.filter(({ state }) => state === "accepted").map(({ participantId }) => participantId)).toEqual(["p4", "p5", "p6"]);
});

/** An asynchronous round of three, of whom only the first answers before the deadline. */
async function slowRound(strategy: object, minResults?: number) {
  const stop = new AbortController();
  const train = async (id: string) => {
    if (id !== "p1") await clock.sleep(60_000, stop.signal).catch(() => undefined);
    return { model: model(1, 2), samples: 5 };
  };
  const { problem, rounds } = await fixture.run({ strategy, minResults, deadlineMs: 1000 }, { train }, { participants: 3 });
  stop.abort();
  return problem ?? rounds.map(({ participants }) => participants.filter(({ state }) => state === "accepted").length);
}

test("an asynchronous round with fewer than minResults at its deadline fails, as any other round does", async () => {
  const tooFew = { code: "NOT_ENOUGH_RESULTS", message: "Round 1 has 1 of 3 results." };
  expect(await slowRound({ name: "fedbuff", buffer: 3 }, 3)).toEqual(tooFew);
});

test.each([
  ["without minResults", { name: "fedbuff", buffer: 3 }, undefined],
  ["with as many as minResults", { name: "fedbuff", buffer: 3 }, 1],
  ["whose buffer is full, below minResults", { name: "fedasync", buffer: 1 }, 3],
])("an asynchronous round %s is made of what has arrived", async (_what, strategy, minResults) => {
  expect(await slowRound(strategy, minResults)).toEqual([1]);
});

/** A federation of listed participants that join; those in `there` ask for work, and answer it unless they leave during it. */
async function joinedRound(given: { members: number; there: readonly string[]; leaving?: readonly string[]; settings: object }) {
  const settings = federationSettings.parse({ task: "own", rounds: 1, eval: { mode: "none" }, ...given.settings });
  const members = Array.from({ length: given.members }, (_, index) =>
    Participant.fromPartial({ id: `p${index + 1}`, url: `join:simulation/p${index + 1}` }),
  );
  const work = createJoinedWork({ clock });
  const memory = createMemoryControl({
    ...{ settings: JSON.stringify(settings), participants: members },
    ...{ now: clock.now, random, onCommitted: async () => {} },
  });
  const ended = new AbortController();
  const ask = (id: string, asked: AbortSignal) => work.next(`simulation/${id}`, { waitMs: 60_000, signal: asked, capabilities: new Set() });
  const takePart = async (id: string): Promise<void> => {
    const task = await ask(id, ended.signal);
    if (given.leaving?.includes(id)) return void (await ask(id, AbortSignal.abort()));
    const blob = await blobs.keepBytes(model(1));
    if (task) work.finish(`simulation/${id}`, task.id, { blob, fields: { num_samples: 3 } });
    await ask(id, ended.signal);
  };
  const parts = given.there.map(takePart);
  const deps = { participants: work.participants, aggregation, blobs, clock, random, logger: silentLogger, callsMax: CALLS_MAX };
  const run = { deps, control: memory.control, settings, members, signal, federation: memory.federation };
  try {
    await runFederation(run, { isRoundOpen: false });
    return memory.rounds[0]?.participants.map(({ participantId, state }) => `${participantId} ${state}`);
  } finally {
    ended.abort();
    await Promise.all(parts);
  }
}

test("joined participants that are away hold no call: those that are there are asked", async () => {
  const settings = { minResults: 2, deadlineMs: 1500 };
  expect(await joinedRound({ members: 6, there: ["p5", "p6"], settings })).toEqual([
    "p1 straggler",
    "p2 straggler",
    "p3 straggler",
    "p4 straggler",
    "p5 accepted",
    "p6 accepted",
  ]);
});

test("joined participants that leave during their training hold no call either", async () => {
  const settings = { minResults: 2, deadlineMs: 4000 };
  const all = ["p1", "p2", "p3", "p4"];
  expect(await joinedRound({ members: 4, there: all, leaving: ["p1", "p2"], settings })).toEqual([
    "p1 straggler",
    "p2 straggler",
    "p3 accepted",
    "p4 accepted",
  ]);
}, 20_000);
