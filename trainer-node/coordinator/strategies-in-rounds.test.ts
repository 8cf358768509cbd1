import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SAMPLES_MAX } from "../../common/training/federation-settings.ts";
import type { RoundParticipant } from "../../proto/gen/tributary/training/v1/training.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import { model, openRunFixture } from "./run-fixture.ts";
import { openOwnControls } from "./updates/own-controls.ts";

const fixture = openRunFixture();
afterAll(() => fixture.close());

type Values = Record<string, number>;

/** The only number of each tensor. A blob is read at once, because parameters of one participant are removed after its answer. */
function numbersIn(hash: string): Values {
  if (hash === "") return {};
  const { tensors } = decodeParameters(readFileSync(join(fixture.blobs.folder, hash)));
  return Object.fromEntries(tensors.map(({ name, data }) => [name, data[0] as number]));
}

const packed = (values: Values): Uint8Array =>
  encodeParameters(
    Object.entries(values).map(([name, value]) => ({ name, dtype: "f64", shape: [1], data: Float64Array.of(value) })),
    "safetensors",
  );

/** Participants whose losses bend differently: a_i / 2 · (w - b_i)². Plain averaging settles away from the optimum of their sum. */
const BENDS: Readonly<Record<string, { a: number; b: number }>> = { p1: { a: 1, b: 4 }, p2: { a: 6, b: 0 }, p3: { a: 2, b: -2 } };
const OPTIMUM = (1 * 4 + 6 * 0 + 2 * -2) / 9;
const STEPS = 10;
const LR = 0.1;

/** The client's side of SCAFFOLD by the paper, with the controls that it is sent. */
function drifting(id: string, { w: start = 3, "control:w": c = 0, "own_control:w": own = 0 }: Values, corrected: boolean): Values {
  const { a, b } = BENDS[id] as { a: number; b: number };
  let w = start;
  for (let step = 0; step < STEPS; step++) w -= LR * (a * (w - b) + (corrected ? c - own : 0));
  return corrected ? { w, "control:w": (start - w) / (STEPS * LR) - c } : { w };
}

describe("SCAFFOLD", () => {
  const train = (corrected: boolean) => (id: string, task: { parameters: string }) => ({
    model: packed(drifting(id, numbersIn(task.parameters), corrected)),
  });

  test.each([1, 0.67])("participants that drift apart meet at the optimum of all, with a fraction of %d", async (fraction) => {
    const settings = { strategy: "scaffold", rounds: 60, fraction, task: { name: "own", config: {} } };
    const { problem, records } = await fixture.run(settings, { train: train(true) }, { participants: 3 });
    expect(problem).toBeUndefined();
    const { w = Number.NaN } = numbersIn(records.at(-1)?.result ?? "");
    expect(Math.abs(w - OPTIMUM)).toBeLessThan(0.02);
    expect(records.at(-1)?.strategy).toMatchObject({ name: "scaffold", total_clients: 3 });
    const plain = await fixture.run({ ...settings, strategy: "fedavg", fraction: 1 }, { train: train(false) }, { participants: 3 });
    expect(Math.abs((numbersIn(plain.records.at(-1)?.result ?? "")["w"] ?? Number.NaN) - OPTIMUM)).toBeGreaterThan(0.2);
  });

  test("a coordinator that takes over sends each participant the control variate that the first one would have sent", async () => {
    const sent: Values[] = [];
    const recording = (id: string, task: { parameters: string; roundId: string }) => {
      if (id === "p2") sent.push(numbersIn(task.parameters));
      return train(true)(id, task);
    };
    const { rounds } = await fixture.run({ strategy: "scaffold", rounds: 4 }, { train: recording }, { participants: 3 });
    const controls = openOwnControls({
      deps: { blobs: fixture.blobs },
      control: { history: async (after: number) => rounds.slice(after, 3) },
      settings: { strategy: { name: "scaffold" } },
      federation: { headRound: 3 },
    });
    const head = rounds[2]?.resultBlob ?? "";
    const again = await controls?.withParameters(head, { id: "p2" } as never, async (hash) => numbersIn(hash));
    expect(Object.keys(sent[3] ?? {}).toSorted()).toEqual(["control:w", "own_control:w", "w"]);
    expect(again).toEqual(sent[3]);
    expect(await fixture.blobs.find(rounds[2]?.resultBlob ?? "")).toBeDefined();
  });

  test("participants that do not declare control variates are refused by name", async () => {
    const { problem, asked } = await fixture.run({ strategy: "scaffold" }, { train: train(true) }, { capabilities: ["steps", "formats"] });
    expect(problem).toEqual({
      code: "VALIDATION_ERROR",
      message: expect.stringContaining("Participant p1 (http://p1) cannot train with control variates, as the strategy scaffold needs"),
    });
    expect(asked).toEqual([]);
  });

  const given = { strategy: "scaffold", rounds: 40, initial: { blob: "a".repeat(64) } };
  const lastOf = ({ records }: { records: readonly { result: string }[] }): Values => numbersIn(records.at(-1)?.result ?? "");

  test.each([
    ["a plain model", { w: 3 }],
    ["the model of an earlier federation, whose control variate is not the mean of these participants'", { w: 3, "control:w": 5 }],
  ])("starts from %s, and reaches the optimum", async (_name, initial) => {
    const run = await fixture.run(given, { train: train(true) }, { participants: 3, initial: packed(initial) });
    expect([run.problem, run.rounds[0]?.participants.map(({ reason }) => reason)]).toEqual([undefined, ["", "", ""]]);
    expect(numbersIn(run.records[0]?.base ?? "")).toEqual({ w: 3, "control:w": 0 });
    expect(Math.abs((lastOf(run)["w"] ?? Number.NaN) - OPTIMUM)).toBeLessThan(0.02);
  });

  test("starts from what one participant trained, and reaches the optimum", async () => {
    const run = await fixture.run({ ...given, initial: { participant: 0 } }, { train: train(true) }, { participants: 3 });
    expect(run.problem).toBeUndefined();
    expect(Math.abs((lastOf(run)["w"] ?? Number.NaN) - OPTIMUM)).toBeLessThan(0.02);
  });

  test.each([
    ["at its begin", false],
    ["at a coordinator that takes it over in round 1", true],
  ])("a federation of another strategy starts from its model without the control variates, %s", async (_name, isRoundOpen) => {
    const settings = { ...given, strategy: "fedavg", rounds: 1 };
    const run = await fixture.run(settings, { train: train(false) }, { initial: packed({ w: 3, "control:w": 5 }), isRoundOpen });
    expect(run.rounds[0]?.participants.map(({ state, reason }) => [state, reason])).toEqual(new Array(2).fill(["accepted", ""]));
    expect([numbersIn(run.records[0]?.base ?? ""), Object.keys(lastOf(run))]).toEqual([{ w: 3 }, ["w"]]);
  });

  test("a participant that declares control variates and sends none is refused, also if it answers first", async () => {
    const first = (id: string, task: { parameters: string }) => (id === "p1" ? { model: packed({ w: 1 }) } : train(true)(id, task));
    const { problem, rounds } = await fixture.run({ strategy: "scaffold", minResults: 2 }, { train: first }, { participants: 3 });
    expect([problem, rounds[0]?.participants.map(({ state }) => state)]).toEqual([undefined, ["failed", "accepted", "accepted"]]);
    expect(rounds[0]?.participants[0]?.reason).toContain('MISSING_CONTROLS: it must send a tensor "control:w"');
  });
});

describe("q-FedAvg", () => {
  const updates: Readonly<Record<string, { value: number; loss: number }>> = { p1: { value: 1, loss: 1 }, p2: { value: -1, loss: 3 } };

  test("participants of a higher loss count for more, by the losses that they report before they train", async () => {
    const settings = { strategy: { name: "qfedavg", q: 1 }, task: { name: "own", config: { lr: 1 } } };
    const train = (id: string, { config }: { config: Readonly<Record<string, unknown>> }) => {
      expect(config).toMatchObject({ loss_before: true });
      const { value, loss } = updates[id] as { value: number; loss: number };
      return { model: model(value), samples: 10, metrics: { loss_before: loss } };
    };
    const { problem, records, rounds } = await fixture.run(settings, { train }, { initial: model(0) });
    expect(problem).toBeUndefined();
    // q = 1, L = 1: w = Σ F·x / Σ (1 + F).
    expect((await fixture.valuesOf(records[0]?.result ?? ""))[0]).toBeCloseTo((1 * 1 - 3 * 1) / (2 + 4), 6);
    expect(records[0]?.strategy).toMatchObject({ lr: 1, losses: expect.arrayContaining([1, 3]) });
    expect(rounds[0]?.participants.map(({ metrics }) => metrics["loss_before"])).toEqual([1, 3]);
  });

  test("an update without its loss is that participant's failure", async () => {
    const train = (id: string) => ({ model: model(1), metrics: id === "p1" ? { loss_before: 1 } : { loss: 1 } });
    const { rounds } = await fixture.run({ strategy: "qfedavg", minResults: 1 }, { train }, { initial: model(0) });
    expect(rounds[0]?.participants.map(({ state }) => state)).toEqual(["accepted", "failed"]);
    expect(rounds[0]?.participants[1]?.reason).toContain("no number loss_before, which qfedavg needs");
  });

  test.each([
    ["negative", -1],
    ["so large that its power is not finite", 1e300],
  ])("a loss that is %s is that participant's failure, and not the round's", async (_name, loss) => {
    const train = (id: string) => ({ model: model(1), metrics: { loss_before: id === "p1" ? 1 : loss } });
    const settings = { strategy: { name: "qfedavg", q: 2 }, minResults: 1 };
    const { problem, rounds } = await fixture.run(settings, { train }, { initial: model(0) });
    expect([problem, rounds[0]?.participants.map(({ state }) => state)]).toEqual([undefined, ["accepted", "failed"]]);
    expect(rounds[0]?.participants[1]?.reason).toMatch(/^BAD_METRIC: its loss_before/);
  });
});

test("FedNova: a participant without samples weighs nothing, and does not end the federation", async () => {
  const train = (id: string) => (id === "p1" ? { model: model(2), samples: 10 } : { model: model(7), samples: 0 });
  const { problem, records } = await fixture.run({ strategy: "fednova" }, { train }, { initial: model(1) });
  expect(problem).toBeUndefined();
  expect(await fixture.valuesOf(records[0]?.result ?? "")).toEqual([2]);
});

test.each([undefined, { mode: "central", clipNorm: 100, noiseMultiplier: 1e-9, delta: 1e-5 }])(
  "FedNova divides updates by the steps of their samples, also where noise has all updates weigh the same: %j",
  async (dp) => {
    const samples: Readonly<Record<string, number>> = { p1: 10, p2: 90 };
    // A step of p1 goes 1 further, one of p2 goes 2.
    const train = (id: string) => ({ model: model(id === "p1" ? 1 : 18), samples: samples[id] });
    const { problem, records } = await fixture.run({ strategy: "fednova", dp }, { train }, { initial: model(0) });
    expect(problem).toBeUndefined();
    expect(records[0]?.strategy["steps"]).toEqual(expect.arrayContaining([1, 9]));
    const [first, second] = dp ? [0.5, 0.5] : [0.1, 0.9];
    const [value] = await fixture.valuesOf(records[0]?.result ?? "");
    expect(value).toBeCloseTo((first * 1 + second * 9) * (first * 1 + second * 2), 5);
  },
);

describe("FLTrust", () => {
  const strategy = { name: "fltrust", root_participant: 2 };
  /** p3 has the root data; p1, p4 and p5 send the opposite, a hundred times as long. */
  const train = (id: string) => ({ model: id === "p2" ? model(2, 2.2) : id === "p3" ? model(1, 1) : model(-100, -100), samples: 5 });

  test("updates against the root count for nothing, though most participants send them", async () => {
    const settings = { strategy, initial: { blob: "a".repeat(64) } };
    const { problem, rounds, records } = await fixture.run(settings, { train }, { initial: model(0, 0), participants: 5 });
    expect(problem).toBeUndefined();
    const [first = 0, second = 0] = await fixture.valuesOf(records[0]?.result ?? "");
    // The direction of p2, as long as the root's update.
    expect([first, second, Math.hypot(first, second)]).toEqual([
      expect.closeTo(0.951, 2),
      expect.closeTo(1.046, 2),
      expect.closeTo(Math.SQRT2, 5),
    ]);
    const kept = rounds[0]?.participants.map(({ participantId, kept: isKept }: RoundParticipant) => [participantId, isKept]);
    expect(kept).toEqual(
      expect.arrayContaining([
        ["p1", false],
        ["p2", true],
        ["p3", true],
        ["p4", false],
      ]),
    );
  });

  test("every round asks the root, whatever the fraction, and waits for it", async () => {
    const settings = { strategy, initial: { blob: "a".repeat(64) }, rounds: 4, fraction: 0.5 };
    const { problem, rounds } = await fixture.run(settings, { train }, { initial: model(0, 0), participants: 5 });
    expect(problem).toBeUndefined();
    expect(
      rounds.map(({ participants }) => [participants.length, participants.some(({ participantId }) => participantId === "p3")]),
    ).toEqual(new Array(4).fill([3, true]));
  });

  test("a round without the root's update fails with the root's reason", async () => {
    const without = (id: string) => (id === "p3" ? { model: model(Number.NaN, 1) } : train(id));
    const settings = { strategy, initial: { blob: "a".repeat(64) } };
    const { problem } = await fixture.run(settings, { train: without }, { initial: model(0, 0), participants: 5 });
    expect(problem?.message).toMatch(/Round 1 has no update of p3, whose data set is the root of fltrust\. p3: NON_FINITE/);
  });

  test("rewards by what a model is worth without each participant work with a strategy that has a value for each", async () => {
    const settings = { strategy, initial: { blob: "a".repeat(64) }, rewards: { by: "leave_one_out" } };
    const evaluate = (_id: string, { parameters }: { parameters: string }) => {
      const accuracy = Math.max(0, 1 - Math.abs((numbersIn(parameters)["w"] ?? 0) - 1));
      return { accuracy, loss: undefined, samples: 1, metrics: { accuracy } };
    };
    const { problem, rounds } = await fixture.run(settings, { train, evaluate }, { initial: model(0, 0), participants: 5 });
    expect(problem).toBeUndefined();
    const worths = Object.fromEntries((rounds[0]?.participants ?? []).map((one) => [one.participantId, one.contribution]));
    expect(worths).toMatchObject({ p1: 0, p2: expect.closeTo(0.951, 2), p3: 0, p4: 0, p5: 0 });
  });

  test("a round of the root and one other is shared equally, because there is no round without the other", async () => {
    const settings = {
      strategy: { name: "fltrust", root_participant: 0 },
      initial: { blob: "a".repeat(64) },
      rewards: { by: "leave_one_out" },
    };
    const evaluate = () => ({ accuracy: 0.5, loss: undefined, samples: 1, metrics: { accuracy: 0.5 } });
    const two = () => ({ model: model(1, 1), samples: 5 });
    const { problem, rounds } = await fixture.run(settings, { train: two, evaluate }, { initial: model(0, 0) });
    expect([problem, rounds[0]?.participants.map(({ contribution }) => contribution)]).toEqual([undefined, [1, 1]]);
  });
});

describe("rewards", () => {
  /** p1 goes against the others and declares as many samples as a federation without maxSamples takes. */
  const train = (id: string) => (id === "p1" ? { model: model(-1, -1), samples: SAMPLES_MAX } : { model: model(1, 1), samples: 10 });
  const dp = { mode: "central", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
  const shares = async (settings: object) => {
    const { problem, rounds } = await fixture.run(settings, { train }, { initial: model(0, 0), participants: 4 });
    return { problem, paid: rounds[0]?.participants.map(({ contribution }) => contribution) };
  };

  test("samples that a participant declares itself do not decide what it is paid", async () => {
    const { problem, paid } = await shares({ strategy: "median" });
    expect([problem, paid]).toEqual([undefined, [0, expect.closeTo(1, 5), expect.closeTo(1, 5), expect.closeTo(1, 5)]]);
  });

  test("with a limit, or where it is asked for, samples decide", async () => {
    expect(await shares({ strategy: "median", maxSamples: 10, minResults: 3 })).toMatchObject({ paid: [0, 10, 10, 10] });
    expect(await shares({ strategy: "median", rewards: { by: "samples" } })).toMatchObject({ paid: [SAMPLES_MAX, 10, 10, 10] });
  });

  test("with central noise no exact figure of an update comes out: neither its norm, nor its cosine, nor a reward by it", async () => {
    const { rounds } = await fixture.run({ dp }, { train }, { initial: model(0, 0), participants: 4 });
    expect(rounds[0]?.participants).toHaveLength(4);
    for (const { norm, cosine, contribution } of rounds[0]?.participants ?? [])
      expect([norm, cosine, contribution]).toEqual([undefined, undefined, 1]);
  });

  test.each(["cosine", "leave_one_out"])(
    "federations of earlier versions with central noise and rewards by %s pay equal shares",
    async (by) => {
      expect(await shares({ dp, rewards: { by } })).toEqual({ problem: undefined, paid: [1, 1, 1, 1] });
    },
  );

  test("with central noise neither the round nor the rewards say which updates the strategy kept", async () => {
    const strategy = { name: "krum", f: 1 };
    const shown = async (settings: object) => {
      const { problem, rounds } = await fixture.run({ strategy, ...settings }, { train }, { initial: model(0, 0), participants: 5 });
      return { problem, of: rounds[0]?.participants.map(({ kept, contribution }) => [kept, contribution]) };
    };
    expect(await shown({ dp })).toEqual({ problem: undefined, of: new Array(5).fill([undefined, 1]) });
    expect((await shown({})).of?.[0]).toEqual([false, 0]);
  });
});
