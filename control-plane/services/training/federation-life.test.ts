import { epsilonAfter } from "../../../common/training/privacy-account.ts";
import { NO_RECORD } from "../../../common/training/round-record.ts";
import type { RoundEvaluation } from "../../../proto/gen/tributary/training/v1/metrics.ts";
import { openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { trainingHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const [INITIAL, UPDATE, RESULT] = ["a", "b", "c"].map((digit) => digit.repeat(64)) as [string, string, string];
const COORDINATOR = "anonymous" as const;

const training = () => trainingHandlers(platform.deps);
const create = async ({ initialBlob, rounds = 2, ...more }: Record<string, unknown> & { initialBlob?: string; rounds?: number } = {}) => {
  const participants = [{ url: "", join: true, dataset: "" }];
  const request = {
    name: "f",
    teamId: platform.team.id,
    settings: JSON.stringify({ rounds, task: {}, ...more }),
    participants,
    budgetNanoUsd: 0n,
    initialBlob,
  };
  return (await training().createFederation(request, platform.as("owner"))).federation?.id ?? "";
};
const read = async (id: string) => {
  const { federation } = await training().getFederation({ id }, platform.as("owner"));
  if (!federation) throw new Error("no federation");
  return federation;
};
const claim = async (name = "a") =>
  (await training().claimFederations({ claim: name, leaseMs: 60_000n, limit: 1, except: [], address: "" }, platform.as(COORDINATOR))).work
    .length;
const extend = (who: Who, id: string, rounds: number) => training().controlFederation({ id, action: "extend", rounds }, platform.as(who));
const end = (federationId: string, changes: { rounds?: number; state?: string } = {}) =>
  training().endFederation({ federationId, claim: "a", state: "completed", rounds: 2, ...changes }, platform.as(COORDINATOR));

/** Opens the next round of a claimed federation, in which its participant returns an update. */
async function train(federationId: string) {
  const held = { federationId, claim: "a" };
  const { headRound } = await read(federationId);
  const round = headRound + 1;
  await training().openRound({ ...held, participantIds: ["p1"] }, platform.as(COORDINATOR));
  const result = {
    ...{ participantId: "p1", state: "accepted", updateBlob: UPDATE, samples: 3n, bytes: 1n, durationMs: 1n, reason: "" },
    ...{
      contribution: 1,
      rewardNanoUsd: 0n,
      metrics: { loss: 0.5 },
      baseRound: headRound,
      norm: undefined,
      cosine: undefined,
      kept: undefined,
    },
  };
  await training().recordResult({ ...held, round, result }, platform.as(COORDINATOR));
  return { held, round, result };
}

/** Runs one round of a claimed federation. */
async function commit(federationId: string, evaluations: RoundEvaluation[] = []): Promise<void> {
  const { held, round, result } = await train(federationId);
  const { headBlob, headRecordHash } = await read(federationId);
  const record = JSON.stringify({
    ...{ federationId, round, previous: headRecordHash, base: headBlob || null, state: null, strategy: {}, made: "aggregated" },
    ...{ updates: [{ hash: UPDATE, weight: 3 }], result: RESULT },
  });
  await training().commitRound({ ...held, round, record, stateBlob: "", participants: [result], evaluations }, platform.as(COORDINATOR));
}

test("an accepted update stays accepted, unless it is said of this very update that it does not fit the others", async () => {
  const id = await create();
  await claim();
  const { held, round, result } = await train(id);
  const failed = { ...result, state: "failed", reason: "SHAPE_MISMATCH" };
  const record = async (changes: object) => {
    const answer = await training().recordResult({ ...held, round, result: { ...failed, ...changes } }, platform.as(COORDINATOR));
    return answer.round?.participants[0];
  };
  expect(await record({ updateBlob: "" })).toMatchObject({ state: "accepted", updateBlob: UPDATE });
  expect(await record({ updateBlob: RESULT })).toMatchObject({ state: "accepted", updateBlob: UPDATE });
  expect(await record({})).toMatchObject({ state: "failed", updateBlob: "", reason: "SHAPE_MISMATCH" });
  // It may be called again, as others that failed.
  expect(await record({ state: "accepted", reason: "" })).toMatchObject({ state: "accepted", updateBlob: UPDATE });
});

test("a federation starts from its initial parameters, which are referenced but are no result yet", async () => {
  const id = await create({ initialBlob: INITIAL });
  expect(await read(id)).toMatchObject({ headRound: 0, headBlob: INITIAL, initialBlob: INITIAL, headRecordHash: NO_RECORD });
  expect(await outcomeOf(training().findParameters({ federationId: id }, platform.as("owner")))).toBe("NOT_FOUND");
  await claim();
  await commit(id);
  expect(await read(id)).toMatchObject({ headRound: 1, headBlob: RESULT, initialBlob: INITIAL });
  const uses: string[] = [];
  for (let after = ""; ; ) {
    const page = await training().listBlobUses({ after, limit: 10 }, platform.as(COORDINATOR));
    uses.push(...page.blobs);
    after = page.next;
    if (after === "") break;
  }
  expect(uses).toContain(INITIAL);
  expect(await outcomeOf(create({ initialBlob: "../etc/passwd" }))).toBe("VALIDATION_ERROR");
});

test("a participant's initial parameters are stored once, by the coordinator with the claim", async () => {
  const id = await create();
  await claim();
  const start = '{"by":"participant","participantId":"p1"}';
  const set = (name: string, blob: string) =>
    training().setInitial({ federationId: id, claim: name, blob, start: blob === INITIAL ? start : "" }, platform.as(COORDINATOR));
  expect(await outcomeOf(set("b", UPDATE))).toBe("RECORD_CHANGED");
  await set("a", INITIAL);
  expect(await set("a", UPDATE)).toEqual({ blob: INITIAL, start });
  expect(await read(id)).toMatchObject({ headRound: 0, headBlob: INITIAL, initialBlob: INITIAL, initialStart: start });
});

test("a running round shows how far its participants are, and a recorded result stays as it is", async () => {
  const id = await create();
  await claim();
  const held = { federationId: id, claim: "a" };
  await training().openRound({ ...held, participantIds: ["p1"] }, platform.as(COORDINATOR));
  const report = (progress: Record<string, number>, name = "a") =>
    training().reportProgress({ ...held, claim: name, round: 1, progress }, platform.as(COORDINATOR));
  const shown = async () => {
    const { rounds } = await training().listRounds({ federationId: id, page: undefined, skip: 0 }, platform.as("owner"));
    return rounds[0]?.participants.map(({ state, progress }) => [state, progress]);
  };
  expect(await shown()).toEqual([["selected", undefined]]);
  expect(await outcomeOf(report({ p1: 0.9 }, "b"))).toBe("RECORD_CHANGED");
  await report({ p1: 0.25, p2: 0.5 });
  await report({ p1: 7 });
  expect(await shown()).toEqual([["selected", 0.25]]);
  await commit(id);
  expect(await outcomeOf(report({ p1: 0.5 }))).toBe("RECORD_CHANGED");
  expect(await shown()).toEqual([["accepted", undefined]]);
});

test("managers extend a federation", async () => {
  const id = await create();
  expect(await platform.outcomes((_context, who) => extend(who, id, 1))).toEqual({
    ...{ anonymous: "UNAUTHORIZED", operator: "NOT_FOUND", colleague: "NOT_FOUND", stranger: "NOT_FOUND" },
    ...{ owner: "ok", manager: "ok", lead: "ok", member: "FORBIDDEN" },
  });
  expect([await outcomeOf(extend("owner", id, 0)), await outcomeOf(extend("owner", id, 100_000))]).toEqual([
    "VALIDATION_ERROR",
    "VALIDATION_ERROR",
  ]);
});

test("a completed federation that is extended is due again and continues its rounds", async () => {
  const id = await create();
  await claim();
  for (const _round of [1, 2]) await commit(id);
  await end(id);
  expect([(await read(id)).state, await claim()]).toEqual(["completed", 0]);
  await extend("owner", id, 3);
  const extended = await read(id);
  expect([extended.state, extended.extendedAt, JSON.parse(extended.settings)]).toEqual(["waiting", 2, { rounds: 5, task: {} }]);
  expect(await claim()).toBe(1);
  await commit(id);
  expect(await read(id)).toMatchObject({ headRound: 3, state: "running" });
});

test("a federation that ended early or failed gets as many more rounds as it is extended by, without its failure", async () => {
  const id = await create({ rounds: 10 });
  await claim();
  await commit(id);
  const failure = { code: "NOT_ENOUGH_RESULTS", message: "Round 2 has 0 of 1 results." };
  await training().endFederation({ federationId: id, claim: "a", state: "failed", failure }, platform.as(COORDINATOR));
  await extend("owner", id, 2);
  const extended = await read(id);
  expect([extended.state, extended.failure, JSON.parse(extended.settings)]).toEqual(["waiting", undefined, { rounds: 3, task: {} }]);
});

test.each([
  { mode: "local", spentRounds: 1 },
  { mode: "central", spentRounds: 0 },
])("updates with $mode noise that arrived in an abandoned round count in epsilon: $spentRounds", async ({ mode, spentRounds }) => {
  const dp = { mode, clipNorm: 1, noiseMultiplier: 2, delta: 1e-5 };
  const epsilon = spentRounds === 0 ? undefined : epsilonAfter(dp, spentRounds);
  const trained = async (): Promise<string> => {
    const id = await create({ dp });
    await claim();
    await train(id);
    return id;
  };
  const [failed, stopped] = [await trained(), await trained()];
  const failure = { code: "NOT_ENOUGH_RESULTS", message: "Round 1 has 1 of 2 results." };
  await training().endFederation({ federationId: failed, claim: "a", state: "failed", failure }, platform.as(COORDINATOR));
  await training().controlFederation({ id: stopped, action: "stop" }, platform.as("owner"));
  for (const id of [failed, stopped]) expect(await read(id)).toMatchObject({ headRound: 0, spentRounds, epsilon });
  // A round in which no update arrived disclosed nothing.
  await extend("owner", failed, 1);
  await claim();
  await training().openRound({ federationId: failed, claim: "a", participantIds: ["p1"] }, platform.as(COORDINATOR));
  await training().endFederation({ federationId: failed, claim: "a", state: "failed", failure }, platform.as(COORDINATOR));
  expect(await read(failed)).toMatchObject({ spentRounds, epsilon });
});

test.each([
  { phase: "evaluating", mode: undefined, spentRounds: 1 },
  { phase: "evaluating", mode: "none", spentRounds: 0 },
  { phase: "aggregating", mode: undefined, spentRounds: 0 },
])("a result with central noise that participants had to evaluate counts, abandoned or not: $phase, eval.mode $mode", async (given) => {
  const dp = { mode: "central", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
  const evaluation = given.mode === undefined ? {} : { eval: { mode: given.mode } };
  const id = await create({ dp, ...evaluation, fraction: 0.5, strategy: { name: "fedavg" } });
  await claim();
  const { held, round } = await train(id);
  for (const phase of ["aggregating", "evaluating"].slice(0, given.phase === "evaluating" ? 2 : 1))
    await training().setPhase({ ...held, round, phase }, platform.as(COORDINATOR));
  const before = (await training().listDataSets({ page: undefined }, platform.as("owner"))).dataSets;
  // Of the failures that give a round's privacy back.
  const failure = { code: "VALIDATION_ERROR", message: "no" };
  await training().endFederation({ ...held, state: "failed", failure }, platform.as(COORDINATOR));
  const epsilon = given.spentRounds === 0 ? undefined : epsilonAfter(dp, 1, { share: 0.5, participants: 1 });
  expect(await read(id)).toMatchObject({ spentRounds: given.spentRounds, epsilon });
  const { dataSets } = await training().listDataSets({ page: undefined }, platform.as("owner"));
  expect([before[0]?.rounds, dataSets[0]?.rounds]).toEqual([1n, BigInt(given.spentRounds)]);
});

test("only coordinators get the key that a federation's noise is made with, each of them the same", async () => {
  const [id, other] = [await create(), await create()];
  const keyOf = async (federationId: string) => {
    const { federation } = await training().getWork({ federationId }, platform.as(COORDINATOR));
    return Buffer.from(federation?.noiseKey ?? []).toString("hex");
  };
  const { work } = await training().claimFederations(
    { claim: "a", leaseMs: 60_000n, limit: 1, except: [], address: "" },
    platform.as(COORDINATOR),
  );
  expect(Buffer.from(work[0]?.federation?.noiseKey ?? []).toString("hex")).toBe(await keyOf(work[0]?.federation?.id ?? ""));
  expect(await keyOf(id)).toHaveLength(64);
  expect(await keyOf(other)).not.toBe(await keyOf(id));
  const shown = (await training().listFederations({ page: undefined }, platform.as("owner"))).federations;
  expect([...shown, await read(id)].map(({ noiseKey }) => noiseKey.byteLength)).toEqual([0, 0, 0]);
});

test("a running federation keeps its coordinator, and does not end at the number of rounds that it had before", async () => {
  const id = await create();
  await claim();
  for (const _round of [1, 2]) await commit(id);
  await extend("owner", id, 1);
  await end(id, { rounds: 2 });
  expect([(await read(id)).state, await claim()]).toEqual(["running", 1]);
  await commit(id);
  await end(id, { rounds: 3 });
  expect(await read(id)).toMatchObject({ headRound: 3, state: "completed" });
});

test("a stopped federation stays stopped", async () => {
  const id = await create();
  await training().controlFederation({ id, action: "stop" }, platform.as("owner"));
  expect(await outcomeOf(extend("owner", id, 1))).toBe("RECORD_CHANGED");
});

test("a round has the metrics of its participants and evaluations, and a page of large rounds comes in parts", async () => {
  const id = await create({ rounds: 3 });
  await claim();
  const metrics = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`${"m".repeat(60)}${index}`, index]));
  const evaluated = { state: "done", reason: "", samples: 3n, metrics };
  const evaluations = Array.from({ length: 300 }, (_, index) => ({ ...evaluated, participantId: `p${index + 1}` }));
  for (const _round of [1, 2, 3]) await commit(id, evaluations);
  const page = { page: 1, pageSize: 100 };
  const list = async (skip: number) => (await training().listRounds({ federationId: id, page, skip }, platform.as("member"))).rounds;
  const [first] = await list(0);
  expect([first?.participants[0]?.metrics, first?.evaluations]).toEqual([{ loss: 0.5 }, evaluations]);
  const parts = [await list(0), await list(1), await list(2), await list(3)];
  expect(parts.map((rounds) => rounds.map(({ round }) => round))).toEqual([[1], [2], [3], []]);
});
