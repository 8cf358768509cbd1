import { federationSettings } from "../../../common/training/federation-settings.ts";
import { openPlatform, outcomeOf, type Platform } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const COORDINATOR = "anonymous" as const;
const training = () => trainingHandlers(platform.deps);

function request(rounds: number, inner?: string) {
  const participant = { url: "", join: inner === undefined, dataset: "" };
  return {
    ...{ name: "f", teamId: platform.team.id, budgetNanoUsd: 0n },
    settings: JSON.stringify({ ...federationSettings.parse({ task: "anything", eval: { mode: "none" } }), rounds }),
    participants: [inner === undefined ? participant : { ...participant, inner: { federationId: inner, rounds: 2 } }],
  };
}
async function create(rounds: number, inner?: string, budgetNanoUsd = 0n): Promise<string> {
  const asked = { ...request(rounds, inner), budgetNanoUsd };
  return (await training().createFederation(asked, platform.as("owner"))).federation?.id ?? "";
}
const read = async (id: string) => {
  const { federation } = await training().getFederation({ id }, platform.as("owner"));
  const { rounds = 0 } = JSON.parse(federation?.settings ?? "{}") as { rounds?: number };
  return { state: federation?.state, rounds };
};
const claimAll = () =>
  training().claimFederations({ claim: "a", leaseMs: 60_000n, limit: 10, except: [], address: "" }, platform.as(COORDINATOR));
const control = (id: string, action: "extend" | "stop", rounds?: number) =>
  training().controlFederation({ id, action, ...(rounds === undefined ? {} : { rounds }) }, platform.as("owner"));
const fail = (federationId: string) => {
  const failure = { code: "NOT_ENOUGH_RESULTS", message: "Round 1 has 0 of 1 results." };
  return training().endFederation({ federationId, claim: "a", state: "failed", failure }, platform.as(COORDINATOR));
};
const complete = (federationId: string, rounds: number) =>
  training().endFederation({ federationId, claim: "a", state: "completed", rounds }, platform.as(COORDINATOR));

/** Opens round 1 of a federation and asks for the rounds of its inner one. */
async function runInner(federationId: string, parameters = ""): Promise<void> {
  await claimAll();
  await training().openRound({ federationId, claim: "a", participantIds: ["p1"] }, platform.as(COORDINATOR));
  await training().runInnerRounds({ federationId, participantId: "p1", round: 1, parameters }, platform.as(COORDINATOR));
  await claimAll();
}

test("a repeated call adds no rounds while the inner ones run or when they are done", async () => {
  const inner = await create(0);
  const outer = await create(1, inner);
  await runInner(outer);
  await runInner(outer);
  expect(await read(inner)).toEqual({ state: "waiting", rounds: 2 });
  await complete(inner, 2);
  await runInner(outer);
  expect(await read(inner)).toEqual({ state: "completed", rounds: 2 });
});

test("an outer federation that failed with its inner one runs its rounds again when it is extended", async () => {
  const inner = await create(0);
  const outer = await create(1, inner);
  await runInner(outer);
  await fail(inner);
  await fail(outer);
  expect([await read(inner), await read(outer)]).toMatchObject([{ state: "failed" }, { state: "failed" }]);
  await control(outer, "extend", 1);
  await runInner(outer);
  expect(await read(inner)).toEqual({ state: "waiting", rounds: 2 });
});

test("a round in the middle that failed and begins again with other parameters does not take what the innermost made from the older ones", async () => {
  const innermost = await create(0);
  const middle = await create(0, innermost);
  const outer = await create(1, middle);
  const [older, newer] = ["a".repeat(64), "b".repeat(64)];
  await runInner(outer, older);
  await runInner(middle, older);
  await complete(innermost, 2);
  await fail(middle);
  await fail(outer);
  await control(outer, "extend", 1);
  await runInner(outer, newer);
  await runInner(middle, newer);
  expect(await read(innermost)).toEqual({ state: "waiting", rounds: 2 });
});

test("a federation keeps its place while any federation around it goes on", async () => {
  const innermost = await create(0);
  const middle = await create(0, innermost);
  const outer = await create(1, middle);
  expect([await read(middle), await read(outer)]).toMatchObject([{ state: "completed" }, { state: "created" }]);
  expect(await outcomeOf(control(innermost, "extend", 1))).toBe("RECORD_CHANGED");
  expect(await outcomeOf(create(1, innermost))).toBe("VALIDATION_ERROR");
  await control(outer, "stop");
  expect(await outcomeOf(control(innermost, "extend", 1))).toBe("ok");
});

test("a federation in the middle that was stopped, and trains no more, frees the one in it", async () => {
  const innermost = await create(0);
  const middle = await create(0, innermost);
  const outer = await create(1, middle);
  await runInner(outer);
  await control(middle, "stop");
  expect(await outcomeOf(control(innermost, "extend", 1))).toBe("ok");
});
