import { CAPABILITIES } from "../../common/training/capabilities.ts";
import { decodeParameters } from "../codec/parameters.ts";
import type { ParticipantTask } from "./participants/participants.ts";
import { model, openRunFixture } from "./run-fixture.ts";

const fixture = openRunFixture();
const { blobs } = fixture;
afterAll(() => fixture.close());

const dp = { mode: "central", clipNorm: 1, noiseMultiplier: 1e-9, delta: 1e-5 };
const digits = { name: "mlp", config: { hidden: [4] }, dataset: { name: "digits", partition: { scheme: "iid" } } };

/** Participants that give 5 if they are asked for untrained parameters, and train to 5.5 or 7. */
function train(id: string, { config }: ParticipantTask) {
  if (config["untrained"] === true) return { model: model(5), metrics: { untrained: 1 } };
  return { model: model(id === "p1" ? 5.5 : 7), samples: 1 };
}

test("a participant that declares `initial` gives the base of round 1: its change is clipped, and the record says who gave it", async () => {
  const { asked, records, problem } = await fixture.run({ dp }, { train });
  const { sha256: base } = await blobs.keepBytes(model(5));
  expect(problem).toBeUndefined();
  expect(asked.map(({ id, parameters, roundId }) => [id, parameters, roundId])).toEqual([
    ["p1", "", "simulation/0"],
    ["p1", base, "simulation/1"],
    ["p2", base, "simulation/1"],
  ]);
  expect(records).toMatchObject([{ base, start: { by: "participant", participantId: "p1" } }]);
  // The changes 0.5 and, clipped, 1. Whole parameters, clipped to 1, would have made 1.
  expect(await fixture.valuesOf(records[0]?.result ?? "")).toEqual([expect.closeTo(5.75, 5)]);
});

test("the coordinator makes the base of a built-in task on a named dataset itself, the same for the same seed", async () => {
  const bases: string[] = [];
  for (const seed of [1, 1, 2]) {
    const { asked } = await fixture.run({ dp, task: digits, seed }, { train });
    expect(asked.map(({ roundId }) => roundId)).not.toContain("simulation/0");
    bases.push(...new Set(asked.map(({ parameters }) => parameters)));
  }
  expect([bases.length, bases[0] === bases[1], bases[0] === bases[2]]).toEqual([3, true, false]);
  const { tensors } = decodeParameters(await blobs.read(bases[0] ?? ""));
  expect(Object.fromEntries(tensors.map(({ name, shape }) => [name, shape]))).toEqual({
    ...{ "hidden1.weight": [64, 4], "hidden1.bias": [4], "output.weight": [4, 10], "output.bias": [10] },
  });
});

test.each([
  ["data of the nodes", undefined],
  ["rows in the request", [{ x: [1, 2], y: 0 }]],
])("for a built-in task on %s a participant is asked", async (_name, dataset) => {
  const { asked, records } = await fixture.run({ dp, task: { ...digits, dataset } }, { train });
  expect([asked[0]?.roundId, records[0]?.start]).toEqual(["simulation/0", { by: "participant", participantId: "p1" }]);
});

test("a named dataset does not make own functions built in: the participant is asked", async () => {
  const capabilities = CAPABILITIES.filter((name) => name !== "steps");
  const { records } = await fixture.run({ dp, task: digits }, { train }, { capabilities });
  expect(records[0]?.start).toEqual({ by: "participant", participantId: "p1" });
});

test("if no participant can give untrained parameters the federation fails before anybody trains, and names `initial`", async () => {
  const { asked, problem } = await fixture.run({ dp }, { train }, { capabilities: ["formats"] });
  expect([asked, problem?.code, problem?.message]).toEqual([[], "VALIDATION_ERROR", expect.stringContaining("Set initial to")]);
});

test("parameters that do not say untrained are no base, because what was trained would be without noise", async () => {
  const { problem, records } = await fixture.run({ dp }, { train: () => ({ model: model(5) }) });
  expect([records, problem?.code]).toEqual([[], "INITIAL_FAILED"]);
});

test.each([
  ["with `initial`", { dp, initial: { blob: "a".repeat(64) } }, { initial: model(5) }],
  ["with local noise", { dp: { ...dp, mode: "local" } }, {}],
  ["without noise", {}, {}],
])("%s nobody is asked for untrained parameters", async (_name, settings, options) => {
  const { asked, records } = await fixture.run(settings, { train }, options);
  expect([asked.map(({ roundId }) => roundId), records[0]?.start]).toEqual([["simulation/1", "simulation/1"], undefined]);
});

test("a coordinator that takes over before round 1 starts from the base that is stored already", async () => {
  const { asked, records, initialBlob } = await fixture.run({ dp }, { train }, { initial: model(5) });
  expect(asked.map(({ parameters, roundId }) => [parameters, roundId])).toEqual([
    [initialBlob, "simulation/1"],
    [initialBlob, "simulation/1"],
  ]);
  expect(records).toMatchObject([{ base: initialBlob }]);
});

test("a participant that cannot be reached does not keep another one from giving the base", async () => {
  const { records } = await fixture.run({ dp, minResults: 1, deadlineMs: 1000 }, { train }, { away: ["p1"] });
  expect(records[0]?.start).toEqual({ by: "participant", participantId: "p2" });
});

test("settings that make no model end the federation with the reason", async () => {
  const { problem } = await fixture.run({ dp, task: { ...digits, config: { hidden: 32 } } }, { train });
  expect(problem).toEqual({ code: "VALIDATION_ERROR", message: expect.stringContaining("initial parameters cannot be made") });
});
