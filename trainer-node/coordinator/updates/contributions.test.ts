import { RoundParticipant } from "../../../proto/gen/tributary/training/v1/training.ts";
import { TrainerError } from "../../errors.ts";
import { ParticipantProblem } from "../participants/participant-problem.ts";
import type { ParticipantTask } from "../participants/participants.ts";
import { model, openRunFixture, type RunFixture, type Script } from "../run-fixture.ts";
import { contributionsOf } from "./contributions.ts";

let fixture: RunFixture;
beforeAll(() => {
  fixture = openRunFixture();
});
afterAll(() => fixture.close());

/** The worth of a model whose name ends with the key. */
const ACCURACY: Readonly<Record<string, number>> = { "/1": 0.9, "without-p1": 0.5, "without-p2": 0.8, "without-p3": 0.9 };
const accuracyOf = ({ roundId }: ParticipantTask): number =>
  Object.entries(ACCURACY).find(([end]) => roundId.endsWith(end))?.[1] ?? Number.NaN;

/** The rewards of three participants by leave_one_out, whose evaluations fail as `refuse` says. */
async function paid(refuse: (id: string, task: ParticipantTask) => void, settings: object = {}, train: Script["train"] = same) {
  const evaluate = (id: string, task: ParticipantTask) => {
    refuse(id, task);
    const accuracy = accuracyOf(task);
    return { accuracy, loss: undefined, samples: 1, metrics: { accuracy } };
  };
  const given = { rewards: { by: "leave_one_out" }, ...settings };
  const { problem, rounds } = await fixture.run(given, { train, evaluate }, { participants: 3, initial: model(0) });
  return { problem, shares: rounds[0]?.participants.map(({ contribution }) => contribution) };
}

const same = () => ({ model: model(1), samples: 5 });
const EQUAL = { problem: undefined, shares: [1, 1, 1] };
const WORTHS = { problem: undefined, shares: [expect.closeTo(0.4, 9), expect.closeTo(0.1, 9), 0] };
const failed = () => new ParticipantProblem("it failed", { again: false });

test("an update is worth what the model's accuracy loses without it", async () => {
  expect(await paid(() => {})).toEqual(WORTHS);
  expect(await paid(() => {}, { eval: { mode: "sites" } })).toEqual(WORTHS);
});

test("a model without one update that no participant could evaluate does not make that update worth all", async () => {
  const refuse = (_id: string, { roundId }: ParticipantTask) => {
    if (roundId.endsWith("without-p3")) throw failed();
  };
  expect(await paid(refuse)).toEqual(EQUAL);
});

test.each(["without-p3", "/1"])(
  "accuracies of different participants are not compared: one of them could not evaluate the model %s",
  async (name) => {
    const refuse = (id: string, { roundId }: ParticipantTask) => {
      if (id === "p2" && roundId.endsWith(name)) throw failed();
    };
    expect(await paid(refuse, { eval: { mode: "sites" } })).toEqual(EQUAL);
    const others = (id: string, { roundId }: ParticipantTask) => {
      if (id === "p1" && roundId.endsWith(name)) throw failed();
    };
    expect(await paid(others)).toEqual(EQUAL);
  },
);

test("a participant that cannot evaluate any of the models does not change the shares", async () => {
  const refuse = (id: string) => {
    if (id === "p2") throw failed();
  };
  expect(await paid(refuse, { eval: { mode: "sites" } })).toEqual(WORTHS);
});

test("a participant that is busy evaluates when it said that it can", async () => {
  const asked = new Set<string>();
  const refuse = (id: string, { roundId }: ParticipantTask) => {
    if (asked.has(`${id} ${roundId}`)) return;
    asked.add(`${id} ${roundId}`);
    throw new ParticipantProblem("it answered 503", { again: true, retryAfterMs: 10 });
  };
  expect(await paid(refuse, { eval: { mode: "sites" } })).toEqual(WORTHS);
});

/** A round of three participants, of which p1 alone has samples. */
const withOneCounted = (strategy: object) =>
  fixture.run(
    { strategy, rewards: { by: "equal" } },
    {
      train: (id) => ({ model: model(Number(id.slice(1))), samples: id === "p1" ? 10 : 0 }),
      evaluate: () => ({ accuracy: 0.5, loss: undefined, samples: 1, metrics: {} }),
    },
    { participants: 3, initial: model(0) },
  );

test.each([{ name: "median" }, { name: "trimmed_mean", beta: 0.3 }, { name: "geometric_median" }, { name: "fedavg" }])(
  "an update of 0 samples has no say in the model of %j, and no reward",
  async (strategy) => {
    const { problem, rounds } = await withOneCounted(strategy);
    expect(problem).toBeUndefined();
    const [round] = rounds;
    expect(round?.participants.map(({ kept, contribution }) => [kept, contribution])).toEqual([
      [true, 1],
      [false, 0],
      [false, 0],
    ]);
    expect(round?.resultBlob).toBe(round?.participants.find(({ participantId }) => participantId === "p1")?.updateBlob);
  },
);

test("updates of 0 samples are not among those that a strategy needs", async () => {
  const { problem } = await withOneCounted({ name: "krum", f: 0 });
  expect(problem).toMatchObject({ code: "AGGREGATION_FAILED", message: expect.stringContaining("there are 1, and 2 of weight 0") });
});

test.each([
  // Those without samples have no share of the round: the mean leaves them out.
  ["has samples", "fedavg", (id: string) => ({ model: model(Number(id.slice(1))), samples: id === "p1" ? 10 : 0 }), [1, 0, 0]],
  [
    "has a loss",
    "qfedavg",
    (id: string) => ({ model: model(id === "p1" ? 1 : 0), samples: 5, metrics: { loss_before: id === "p1" ? 1 : 0 } }),
    [1, 1, 1],
  ],
])("the federation continues if no model can be made without a participant: only that one %s", async (_what, strategy, train, shares) => {
  const settings = { strategy, task: { name: "own", config: { lr: 1 } } };
  expect(await paid(() => {}, settings, train)).toEqual({ problem: undefined, shares });
});

test("participants with equal updates keep their own weights in the models without one of the others", async () => {
  const samples: Readonly<Record<string, number>> = { p1: 9, p2: 1, p3: 10 };
  const models: Promise<[string, number]>[] = [];
  const evaluate = (_id: string, { roundId, parameters }: ParticipantTask) => {
    models.push(fixture.valuesOf(parameters).then(([value = Number.NaN]) => [roundId.split("/").at(-1) ?? "", value]));
    return { accuracy: 0.5, loss: undefined, samples: 1, metrics: { accuracy: 0.5 } };
  };
  const train = (id: string) => ({ model: model(id === "p3" ? 5 : 1), samples: samples[id] });
  const { problem } = await fixture.run({ rewards: { by: "leave_one_out" } }, { train, evaluate }, { participants: 3, initial: model(0) });
  expect(problem).toBeUndefined();
  const made = Object.fromEntries(await Promise.all(models));
  expect(made).toEqual({
    "1": expect.closeTo((9 + 1 + 50) / 20, 5),
    "without-p1": expect.closeTo((1 + 50) / 11, 5),
    "without-p2": expect.closeTo((9 + 50) / 19, 5),
    "without-p3": expect.closeTo(1, 5),
  });
});

test.each([
  ["an own strategy", { name: "mine", layers: [1, 2, 3], names: ["a"], round: 1 }, { layers: [1, 2, 3], names: ["a"] }],
  ["fednova, whose steps are those of the clients", { name: "fednova", steps: [7, 8, 9] }, { steps: [8, 9] }],
])("a model without one update has the settings of the round: %s", async (_what, strategy, expected) => {
  const made: { strategy: object }[] = [];
  const store = async (input: { strategy: object }) => {
    made.push(input);
    throw new TrainerError("VALIDATION_ERROR", "no model is needed here");
  };
  const hashes = ["a", "b", "c"].map((one) => one.repeat(64));
  const accepted = hashes.map((updateBlob, index) =>
    RoundParticipant.fromPartial({ participantId: `p${index + 1}`, state: "accepted", updateBlob, samples: 5n }),
  );
  const own = strategy.name === "mine" ? { own: { language: "python", source: "x" } } : {};
  const run = {
    deps: { aggregation: { store } },
    settings: { strategy: { ...strategy, ...own }, rewards: { by: "leave_one_out" } },
    federation: { id: "fed_1", headBlob: "", headStateBlob: "" },
    signal: new AbortController().signal,
  } as never;
  const record = { round: 1, made: "aggregated", strategy, updates: hashes.map((hash) => ({ hash, weight: 5 })) };
  const evaluation = { accuracy: 0.9, loss: undefined, evaluations: [] };
  await contributionsOf(run, accepted, { combined: { record, figures: new Map() } as never, evaluation });
  expect(made[0]?.strategy).toMatchObject(expected);
});
