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
import { type BlobFolder, openBlobFolder } from "../blobs/blob-folder.ts";
import { runFederation } from "../run-federation.ts";
import { model } from "../run-fixture.ts";
import { createJoinedWork, type JoinedTask } from "./joined-work.ts";

let folder: string;
let blobs: BlobFolder;
let aggregation: ReturnType<typeof createAggregation>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-open-"));
  blobs = openBlobFolder({ folder, bytesMax: 1_000_000 });
  aggregation = createAggregation({ blobs, recordBytes: 1_000_000, logger: silentLogger });
});
afterAll(async () => {
  await aggregation.close();
  rmSync(folder, { recursive: true, force: true });
});

const SAMPLES = 3;
const OPEN = { task: "own", enrollment: "open", deadlineMs: 60_000, eval: { mode: "none" } };

/** An open federation that starts without participants, and what a test does for those that come. */
function openFederation(given: object) {
  const settings = federationSettings.parse({ ...OPEN, ...given });
  const enrolled: Participant[] = [];
  const work = createJoinedWork({ clock });
  const memory = createMemoryControl({
    ...{ settings: JSON.stringify(settings), participants: enrolled },
    ...{ now: clock.now, random, onCommitted: async () => {} },
  });
  const waiting: { reasons: string[]; wake: () => void } = { reasons: [], wake: () => {} };
  const control = {
    ...memory.control,
    reportWaiting: async (reason: string) => {
      waiting.reasons.push(reason);
      waiting.wake();
    },
  };
  const deps = { participants: work.participants, aggregation, blobs, clock, random, logger: silentLogger, callsMax: 8 };
  const { signal } = new AbortController();
  const { federation } = memory;
  const done = runFederation({ deps, control, settings, members: [], signal, federation }, { isRoundOpen: false });
  const ask = (id: string, asked: AbortSignal = signal) =>
    work.next(`simulation/${id}`, { waitMs: 60_000, signal: asked, capabilities: new Set() });
  return {
    done,
    rounds: memory.rounds,
    enroll: (id: string, maxSamples?: bigint) => void enrolled.push(Participant.fromPartial({ id, joined: true, maxSamples })),
    ask,
    /** Asks for work and hangs up. */
    hangUp: (id: string) => ask(id, AbortSignal.abort()),
    answer: async (id: string, task: JoinedTask | undefined) => {
      const blob = await blobs.keepBytes(model(1));
      return work.finish(`simulation/${id}`, task?.id ?? "", { blob, fields: { num_samples: SAMPLES } });
    },
    /** Waits until the federation reports this reason. */
    waitsFor: async (reason: string) => {
      while (!waiting.reasons.at(-1)?.includes(reason)) await new Promise<void>((resolve) => (waiting.wake = resolve));
    },
  };
}

test("a round has the participants that are there when it begins: newcomers, but nobody who left, and at least the minimum", async () => {
  const open = openFederation({ rounds: 3, minParticipants: 2 });
  await open.waitsFor("has 0 of 2");
  open.enroll("p1");
  open.enroll("p2");
  const [first, second] = await Promise.all([open.ask("p1"), open.ask("p2")]);
  // During the round p1 leaves after its work, and p3 comes.
  await open.answer("p1", first);
  await open.hangUp("p1");
  open.enroll("p3", 2n);
  const third = open.ask("p3");
  await open.answer("p2", second);
  // The update of p3 is refused, because it agreed to fewer samples.
  const inRound2 = await open.ask("p2");
  await open.answer("p3", await third);
  await open.hangUp("p3");
  await open.answer("p2", inRound2);
  const stayed = open.ask("p2");
  await open.waitsFor("has 1 of 2");
  // p1 comes back.
  await open.answer("p1", await open.ask("p1"));
  await open.answer("p2", await stayed);
  await open.done;
  const states = open.rounds.map(({ participants }) => participants.map(({ participantId, state }) => `${participantId} ${state}`));
  expect(states).toEqual([
    ["p1 accepted", "p2 accepted"],
    ["p2 accepted", "p3 failed"],
    ["p1 accepted", "p2 accepted"],
  ]);
  expect(open.rounds[1]?.participants[1]?.reason).toContain("TOO_MANY_SAMPLES");
});

test.each([
  [{}, 1],
  [{ minParticipants: 2 }, 2],
  [{ minResults: 3 }, 3],
  [{ minParticipants: 20, minResults: 3, fraction: 0.1 }, 30],
])("an open federation with %j needs %d participants, and fails if they do not come until its start deadline", async (given, least) => {
  const open = openFederation({ rounds: 1, startDeadlineMs: 100, ...given });
  await expect(open.done).rejects.toMatchObject({
    code: "NOT_ENOUGH_PARTICIPANTS",
    message: `Only 0 of ${least} participants are there after 100 ms.`,
  });
});
