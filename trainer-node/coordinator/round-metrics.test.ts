import { ParticipantProblem } from "./participants/participant-problem.ts";
import { model, openRunFixture } from "./run-fixture.ts";

const fixture = openRunFixture();
afterAll(() => fixture.close());

const evaluation = (accuracy: number, metrics: Record<string, number> = {}, samples?: number) => ({
  ...{ accuracy, loss: metrics["loss"], samples },
  metrics: { accuracy, ...metrics },
});

test("every number of training and evaluation is in the committed round, by participant", async () => {
  const { rounds } = await fixture.run(
    { eval: { mode: "sites" } },
    {
      train: (id) => ({ model: model(1), samples: 10, metrics: { loss: id === "p1" ? 0.5 : 0.25, f1: 0.75 } }),
      evaluate: (id) => (id === "p1" ? evaluation(0.5, { loss: 2, auc: 0.625 }, 30) : evaluation(1, { loss: 4 }, 10)),
    },
  );
  expect(rounds[0]?.participants.map(({ participantId, metrics }) => [participantId, metrics])).toEqual([
    ["p1", { loss: 0.5, f1: 0.75 }],
    ["p2", { loss: 0.25, f1: 0.75 }],
  ]);
  expect(rounds[0]?.evaluations).toEqual([
    { participantId: "p1", state: "done", reason: "", samples: 30n, metrics: { accuracy: 0.5, loss: 2, auc: 0.625 } },
    { participantId: "p2", state: "done", reason: "", samples: 10n, metrics: { accuracy: 1, loss: 4 } },
  ]);
  // Weighted by samples.
  expect([rounds[0]?.accuracy, rounds[0]?.loss]).toEqual([0.625, 2.5]);
});

test("a failed evaluation has its reason, and the next participant is asked", async () => {
  const broken = () => {
    throw new ParticipantProblem("FUNCTION_ERROR: ValueError", { again: false });
  };
  const train = () => ({ model: model(1) });
  const { rounds } = await fixture.run({}, { train, evaluate: (id) => (id === "p1" ? broken() : evaluation(0.5)) });
  expect(rounds[0]?.accuracy).toBe(0.5);
  expect(rounds[0]?.evaluations.map(({ participantId, state, reason }) => [participantId, state, reason])).toEqual([
    ["p1", "failed", "FUNCTION_ERROR: ValueError"],
    ["p2", "done", ""],
  ]);
  const failed = await fixture.run({}, { train, evaluate: broken });
  expect(failed.rounds[0]).toMatchObject({ accuracy: undefined, evaluations: [{ state: "failed" }, { state: "failed" }] });
});

test("metrics of training are not recorded with central noise, which they would get around", async () => {
  const dp = { mode: "central", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
  const { rounds, problem } = await fixture.run(
    { dp, initial: { blob: "a".repeat(64) } },
    { train: () => ({ model: model(1), metrics: { loss: 0.5 } }) },
    { initial: model(0) },
  );
  expect([problem, rounds[0]?.participants.map(({ metrics }) => metrics)]).toEqual([undefined, [{}, {}]]);
});

test.each([
  ["central noise", { dp: { mode: "central", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 }, initial: { blob: "a".repeat(64) } }],
  ["local noise", { dp: { mode: "local", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 } }],
])("with %s a stored federation that asks for figures of own rows has none, and does not stop early by them", async (_name, privacy) => {
  let calls = 0;
  const evaluate = () => {
    calls++;
    return evaluation(1);
  };
  const script = { train: () => ({ model: model(1) }), evaluate };
  for (const asked of [
    { mode: "sites", target: 0.5 },
    { mode: "held_out", target: 0.5 },
  ]) {
    const { rounds, problem } = await fixture.run({ ...privacy, rounds: 2, eval: asked }, script, { initial: model(0) });
    expect([problem, rounds.map(({ accuracy, evaluations }) => [accuracy, evaluations])]).toEqual([
      undefined,
      [
        [undefined, []],
        [undefined, []],
      ],
    ]);
  }
  expect(calls).toBe(0);
});

test("an evaluation knows the number that sums were divided by, which is the expected one where participants are sampled", async () => {
  const dp = { mode: "central", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
  const told: unknown[] = [];
  const evaluate = (_id: string, { config }: { config: Readonly<Record<string, unknown>> }) => {
    told.push(config["clients"]);
    return evaluation(1);
  };
  const settings = { fraction: 0.5, minResults: 1, eval: { dataset: "public" }, initial: { blob: "a".repeat(64) } };
  const script = { train: () => ({ model: model(1) }), evaluate };
  await fixture.run({ ...settings, dp }, script, { initial: model(0), participants: 3 });
  await fixture.run(settings, script, { initial: model(0), participants: 3 });
  expect(told).toEqual([1.5, 2]);
});

test("a participant that declares more samples than maxSamples is refused by name; the others make the round", async () => {
  const samples: Record<string, number> = { p1: 10, p2: 1e15, p3: 10 };
  const train = (id: string) => ({ model: model(id === "p2" ? 666 : 1), samples: samples[id] });
  const { rounds, records } = await fixture.run({ maxSamples: 1000, minResults: 2 }, { train }, { participants: 3 });
  const refused = rounds[0]?.participants.find(({ participantId }) => participantId === "p2");
  const reason = "TOO_MANY_SAMPLES: it declares 1000000000000000 samples, which is above maxSamples, 1000";
  expect(refused).toMatchObject({ state: "failed", reason });
  expect(await fixture.valuesOf(records[0]?.result ?? "")).toEqual([1]);
  const beyond = await fixture.run({ minResults: 2 }, { train: (id) => ({ ...train(id), samples: 1e300 }) }, { participants: 3 });
  expect(beyond.problem).toMatchObject({ code: "NOT_ENOUGH_RESULTS", message: expect.stringContaining("TOO_MANY_SAMPLES") });
});

test.each(["fedavg", "geometric_median", "fedadam"])(
  "without maxSamples, %s refuses 10^15 samples by name and weighs the rest",
  async (strategy) => {
    const samples: Record<string, number> = { p1: 10, p2: 1e15, p3: 10 };
    const train = (id: string) => ({ model: model(id === "p2" ? 666 : 1), samples: samples[id] });
    const { rounds, records } = await fixture.run({ strategy, minResults: 2 }, { train }, { participants: 3 });
    const refused = rounds[0]?.participants.find(({ participantId }) => participantId === "p2");
    const reason = "TOO_MANY_SAMPLES: it declares 1000000000000000 samples, which is above 1000000000, the limit without maxSamples";
    expect(refused).toMatchObject({ state: "failed", reason });
    expect(await fixture.valuesOf(records[0]?.result ?? "")).toEqual([1]);
  },
);

test.each([
  ["0 samples weigh nothing", [10, 30, 0], 2.5],
  ["if one omits its samples, all weigh the same", [10, 30, undefined], 34],
  ["if all have 0 samples, all weigh the same", [0, 0, 0], 34],
])("%s", async (_name, samples, expected) => {
  const values = [1, 3, 98];
  const indexOf = (id: string) => Number(id.slice(1)) - 1;
  const train = (id: string) => ({ model: model(values[indexOf(id)] ?? 0), samples: samples[indexOf(id)] });
  const { records } = await fixture.run({}, { train }, { participants: 3 });
  expect(await fixture.valuesOf(records[0]?.result ?? "")).toEqual([expected]);
});

/** The rounds of a federation of one participant whose evaluations give these accuracies; undefined is a failed evaluation. */
async function roundsWith(accuracies: readonly (number | undefined)[], patience: number): Promise<(number | undefined)[]> {
  const left = [...accuracies];
  const evaluate = () => {
    const accuracy = left.shift();
    if (accuracy === undefined) throw new ParticipantProblem("it cannot be reached", { again: false });
    return evaluation(accuracy);
  };
  const settings = { eval: { patience }, rounds: accuracies.length };
  const { problem, rounds } = await fixture.run(settings, { train: () => ({ model: model(1) }), evaluate }, { participants: 1 });
  expect(problem).toBeUndefined();
  return rounds.map(({ accuracy }) => accuracy);
}

test("a federation whose evaluations fail does not stop early: nothing says that its model no longer improves", async () => {
  expect(await roundsWith([undefined, undefined, undefined, undefined], 2)).toHaveLength(4);
  expect(await roundsWith([0.5, undefined, undefined, undefined, 0.6], 2)).toHaveLength(5);
});

test("a federation stops early after patience rounds with an accuracy that is no better, whatever failed between them", async () => {
  expect(await roundsWith([0.5, 0.6, undefined, 0.5, undefined, 0.6, 0.7], 2)).toEqual([0.5, 0.6, undefined, 0.5, undefined, 0.6]);
});
