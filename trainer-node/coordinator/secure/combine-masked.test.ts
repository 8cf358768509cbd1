import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Federation, Round, RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { openBlobFolder } from "../blobs/blob-folder.ts";
import type { FederationRun } from "../deps.ts";
import { unmaskSum } from "./combine-masked.ts";
import { findPlan, secureRoundId, writePlan } from "./plan.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-masked-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  [
    "all have 0 samples",
    [0, 0, 0],
    /^Round 1 has 3 masked updates, and 0 of them with more than 0 samples: none\..* p4: it cannot be reached/,
  ],
  ["one alone has samples", [100, 0, 0], /3 masked updates, and 1 of them with more than 0 samples: p1 \(100\)\. 3 must have some/],
  ["two alone have samples", [5, 0, 7], /3 masked updates, and 2 of them with more than 0 samples: p3 \(7\), p1 \(5\)\./],
  ["one has nearly all samples", [1_000_000, 1, 1], /p1 declares 1000000, more than nine tenths .* up to 9 would be hidden\..*maxSamples/],
])("masked updates whose mean would show one are not unmasked: %s once others went away", async (_what, [p1, p2, p3], problem) => {
  const blobs = openBlobFolder({ folder, bytesMax: 1_000_000 });
  const ids = ["p1", "p2", "p3", "p4"];
  // p4 trained and went away before it sent its masked update.
  await writePlan(blobs, {
    ...{ round: "fed_1/1", threshold: 3, range: 8, layout: [], samples: {}, partners: ids, shares: {} },
    everybody: ids.map((id) => ({ id, mask_key: "", share_key: "" }) as never),
    weights: { p1, p2, p3, p4: 10 } as Record<string, number>,
  });
  const accepted = ids
    .slice(0, 3)
    .map((participantId) => RoundParticipant.fromPartial({ participantId, state: "accepted", updateBlob: "a".repeat(64) }));
  const asked: string[] = [];
  const away = RoundParticipant.fromPartial({ participantId: "p4", state: "failed", reason: "it cannot be reached" });
  const members = ids.slice(0, 3).map((id) => ({ id }));
  const run = {
    deps: { blobs, secure: { participants: { help: async ({ id }: { id: string }) => void asked.push(id) } } },
    control: { openRound: async () => Round.fromPartial({ round: 1, participants: [...accepted, away] }) },
    federation: { id: "fed_1" },
    members,
  } as unknown as FederationRun;
  await expect(unmaskSum(run, 1, accepted)).rejects.toMatchObject({
    code: "NOT_ENOUGH_RESULTS",
    message: expect.stringMatching(problem),
  });
  expect(asked).toEqual([]);
});

test("a round that the release before has opened goes on with its plan, and not with that of an abandoned attempt", async () => {
  const blobs = openBlobFolder({ folder, bytesMax: 1_000_000 });
  const plan = { everybody: [], threshold: 3, range: 8, layout: [], samples: {}, partners: [], shares: {}, weights: {} };
  const run = { deps: { blobs }, federation: Federation.fromPartial({ id: "fed_2" }), openedAt: new Date(7) };
  await writePlan(blobs, { ...plan, round: "fed_2/1" });
  expect(await findPlan(run, { round: 1, accepted: 2 })).toMatchObject({ round: "fed_2/1" });
  expect(await findPlan(run, { round: 1, accepted: 0 })).toBeUndefined();
  await writePlan(blobs, { ...plan, round: secureRoundId(run, 1) });
  expect(await findPlan(run, { round: 1, accepted: 2 })).toMatchObject({ round: "fed_2/1/7" });
});
