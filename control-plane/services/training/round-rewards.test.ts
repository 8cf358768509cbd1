import { NO_RECORD } from "../../../common/training/round-record.ts";
import { organizationAccount } from "../../domain/ledger.ts";
import { organizationScope } from "../../stores/scopes.ts";
import { post } from "../../writes/ledger.ts";
import { openPlatform, type Platform } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const UPDATES = ["a", "b", "c"].map((digit) => digit.repeat(64));
const RESULT = "d".repeat(64);

/** The rewards of a round with a budget of 900 nano-USD, of participants that the strategy kept or left out. */
async function rewardsOf(kept: readonly (boolean | undefined)[], contributions: readonly number[] = kept.map(() => 0)): Promise<number[]> {
  const { deps, team, organization } = platform;
  const { id: organizationId } = organization;
  const account = { from: "purchases", to: organizationAccount(organizationId) };
  await deps.store.transaction(organizationScope(deps.store, organizationId), (tx) =>
    post(tx, { type: "purchase", organizationId, ...account, amount: 1000n, reference: "p" }, 1),
  );
  const handlers = trainingHandlers(deps);
  const participants = kept.map(() => ({ url: "", join: true, dataset: "" }));
  const settings = JSON.stringify({ rounds: 1, task: {} });
  const request = { name: "f", teamId: team.id, settings, participants, budgetNanoUsd: 900n, initialBlob: undefined };
  const federationId = (await handlers.createFederation(request, platform.as("owner"))).federation?.id ?? "";
  const coordinator = platform.as("anonymous");
  await handlers.claimFederations({ claim: "a", leaseMs: 60_000n, limit: 1, except: [], address: "" }, coordinator);
  const held = { federationId, claim: "a", round: 1 };
  const results = kept.map((isKept, index) => ({
    ...{ participantId: `p${index + 1}`, state: "accepted", updateBlob: UPDATES[index] as string, samples: 3n, bytes: 1n, durationMs: 1n },
    ...{ reason: "", rewardNanoUsd: 0n, metrics: {}, baseRound: 0, norm: undefined, cosine: undefined, kept: isKept },
    contribution: contributions[index] as number,
  }));
  await handlers.openRound({ ...held, participantIds: results.map(({ participantId }) => participantId) }, coordinator);
  for (const result of results) await handlers.recordResult({ ...held, result: { ...result, kept: undefined } }, coordinator);
  const record = JSON.stringify({
    ...{ federationId, round: 1, previous: NO_RECORD, base: null, state: null, strategy: {}, made: "aggregated" },
    ...{ updates: results.map(({ updateBlob: hash }) => ({ hash, weight: 3 })), result: RESULT },
  });
  await handlers.commitRound({ ...held, record, stateBlob: "", participants: results, evaluations: [] }, coordinator);
  const { rounds } = await handlers.listRounds({ federationId, page: undefined, skip: 0 }, platform.as("owner"));
  return (rounds[0]?.participants ?? []).map(({ rewardNanoUsd }) => Number(rewardNanoUsd));
}

test("an update that the strategy left out gets nothing in a round in which no update contributed", async () => {
  expect(await rewardsOf([true, false, true])).toEqual([450, 0, 450]);
});

test.each([
  ["the strategy says of none whether it kept it", [undefined, undefined, undefined]],
  ["the strategy kept none", [false, false, false]],
])("a round in which no update contributed pays all equally if %s", async (_name, kept) => {
  expect(await rewardsOf(kept)).toEqual([300, 300, 300]);
});

test("a round is paid by contribution where an update has any", async () => {
  expect(await rewardsOf([true, false, true], [2, 0, 1])).toEqual([600, 0, 300]);
});
