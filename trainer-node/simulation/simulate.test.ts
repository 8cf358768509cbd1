import { join } from "node:path";
import { createLogger } from "../../common/logger.ts";
import { firstBrokenLink, type RoundRecord } from "../../common/training/round-record.ts";
import type { Round } from "../../proto/gen/tributary/training/v1/training.ts";
import type { Attack } from "./attacks.ts";
import { readSimulation } from "./options.ts";
import { simulate } from "./simulate.ts";

const run = (value: object, attack?: Attack): Promise<readonly Round[]> =>
  simulate(readSimulation(value), {
    attack,
    logger: createLogger("simulation", "silent"),
    signal: new AbortController().signal,
    onRound: () => {},
  });

/** Three of ten clients send the opposite of their update, ten times as long. */
const flipped: Attack = (id, { data }, start) =>
  ["p1", "p2", "p3"].includes(id)
    ? data.map((value, index) => (start?.data[index] ?? 0) - 10 * (value - (start?.data[index] ?? 0)))
    : undefined;

const digits = {
  clients: 200,
  rounds: 3,
  fraction: 0.1,
  task: {
    name: "softmax",
    config: { epochs: 5, lr: 0.3, batch_size: 2 },
    dataset: { name: "digits", partition: { scheme: "iid" } },
  },
};

test("hundreds of virtual clients are selected, trained and combined as real ones are, with a record that holds", async () => {
  const rounds = await run({ ...digits, threads: 2 });
  expect(rounds.map(({ participants }) => participants.filter(({ state }) => state === "accepted").length)).toEqual([20, 20, 20]);
  expect(new Set(rounds.flatMap(({ participants }) => participants.map(({ participantId }) => participantId))).size).toBeGreaterThan(40);
  expect(rounds.at(-1)?.accuracy).toBeGreaterThan(0.6);
  const links = rounds.map(({ record, recordHash }) => ({ record: JSON.parse(record) as RoundRecord, hash: recordHash }));
  expect(firstBrokenLink(links)).toBeUndefined();
  // Whichever thread is quicker, the same comes out.
  const again = await run({ ...digits, threads: 1 });
  expect(again.at(-1)?.recordHash).toBe(rounds.at(-1)?.recordHash);
}, 60_000);

test.each([
  ["scaffold", {}],
  ["qfedavg", {}],
  ["fltrust", { root_participant: 0 }],
])(
  "%s runs with the built-in participants: what it needs of them comes with their updates",
  async (name, given) => {
    const task = { ...digits.task, config: { epochs: 2, lr: 0.1, batch_size: 10 } };
    const rounds = await run({
      ...digits,
      clients: 10,
      fraction: 0.5,
      rounds: 4,
      task,
      initial: { participant: 0 },
      strategy: { name, ...given },
    });
    expect(rounds.map(({ record }) => (JSON.parse(record) as RoundRecord).strategy["name"])).toEqual(new Array(4).fill(name));
    expect(rounds.at(-1)?.accuracy).toBeGreaterThan(0.8);
  },
  60_000,
);

test("a simulation of FedProx has a mu, and own functions that say that they apply it", async () => {
  expect(readSimulation({ clients: 2, task: "softmax", strategy: "fedprox" }).settings.strategy).toEqual({ name: "fedprox", mu: 0.1 });
  const functions = join(import.meta.dirname, "../functions/__fixtures__/adding.ts");
  const own = { ...digits, clients: 3, fraction: 1, rounds: 1, strategy: { name: "fedprox", mu: 0.1 }, functions };
  await expect(run(own)).rejects.toThrow("cannot add the proximal term that mu weighs to its training, as the strategy fedprox needs");
  expect(await run({ ...own, proximal: true })).toHaveLength(1);
});

test("virtual clients with own functions are refused where the strategy needs control variates", async () => {
  const functions = join(import.meta.dirname, "../../examples/participant.ts");
  await expect(run({ ...digits, clients: 3, fraction: 1, strategy: "scaffold", functions })).rejects.toThrow(
    "cannot train with control variates",
  );
}, 60_000);

test.each([
  ["float16", { method: "float16" }, 0.65],
  ["int8", { method: "int8" }, 0.45],
  ["top_k", { method: "top_k", share: 0.1 }, 0.4],
])(
  "updates compressed by %s train as well as whole ones, with fewer bytes",
  async (_name, compression, share) => {
    const settings = { ...digits, clients: 5, fraction: 1, rounds: 6, initial: { participant: 0 } };
    const [plain, rounds] = [await run(settings), await run({ ...settings, compression })];
    expect(rounds.at(-1)?.accuracy).toBeGreaterThan((plain.at(-1)?.accuracy ?? 0) - 0.03);
    const { bytes, bytesSent } = (JSON.parse(rounds.at(-1)?.record ?? "{}") as RoundRecord).compression ?? { bytes: 1, bytesSent: 1 };
    expect(bytesSent / bytes).toBeLessThan(share);
  },
  60_000,
);

test("hostile clients ruin a mean, and a robust strategy withstands them", async () => {
  const settings = { ...digits, clients: 10, fraction: 1, rounds: 4, initial: { participant: 9 } };
  const [mean, median] = [await run({ ...settings, strategy: "mean" }, flipped), await run({ ...settings, strategy: "median" }, flipped)];
  expect(mean.at(-1)?.accuracy).toBeLessThan(0.4);
  expect(median.at(-1)?.accuracy).toBeGreaterThan(0.85);
}, 60_000);

test("FedProx against FedAvg on synthetic(1,1) with 90 % stragglers: who takes their part of the work is above who drops them", async () => {
  const settings = {
    clients: 30,
    threads: 2,
    rounds: 6,
    fraction: 1 / 3,
    minResults: 1,
    seed: 5,
    task: { name: "softmax", config: { epochs: 5, batch_size: 10, lr: 0.01 }, dataset: { synthetic: { alpha: 1, beta: 1, seed: 0 } } },
    eval: { mode: "sites" },
  };
  const dropped = await run({ ...settings, strategy: "fedavg", stragglers: { share: 0.9, work: "dropped" } });
  const partial = await run({ ...settings, strategy: { name: "fedprox", mu: 1 }, stragglers: { share: 0.9, work: "partial" } });
  const updates = (rounds: readonly Round[]) =>
    rounds.map(({ participants }) => participants.filter(({ state }) => state === "accepted").length);
  expect(updates(dropped)).toEqual(new Array(6).fill(1));
  expect(updates(partial)).toEqual(new Array(6).fill(10));
  const mean = (rounds: readonly Round[]) => rounds.slice(-3).reduce((sum, { accuracy = 0 }) => sum + accuracy, 0) / 3;
  expect(mean(partial)).toBeGreaterThan(mean(dropped) + 0.1);
}, 60_000);

test("virtual clients add the noise that dp local asks for, and its epsilon is counted", async () => {
  const dp = { mode: "local", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
  const rounds = await run({ ...digits, rounds: 1, threads: 2, clients: 20, fraction: 1, dp });
  expect(rounds[0]?.participants.every(({ state }) => state === "accepted")).toBe(true);
  expect(rounds[0]?.epsilon).toBeGreaterThan(0);
}, 30_000);

test("Ray runs Python files only", () => {
  expect(() => readSimulation({ clients: 2, task: "softmax", ray: true })).toThrow("ray: needs functions that are a Python file (.py)");
});

describe("Python functions", () => {
  const functions = join(import.meta.dirname, "python/__fixtures__/functions.py");
  const own = { clients: 20, rounds: 3, fraction: 0.5, threads: 2, functions, eval: { mode: "sites" } };
  const parts = { partition: { scheme: "iid" } };
  const withNumpy = process.env["TEST_PYTHON"];
  const NO_NUMPY = withNumpy === undefined ? " (TEST_PYTHON names no Python with numpy; `make test` makes one)" : "";

  test("train and evaluate run in processes, get their part, round and id, and leave the records of any simulation", async () => {
    const rounds = await run({ ...own, task: { name: "own", config: { step: 2 }, dataset: parts } });
    expect(rounds.map(({ participants }) => participants.filter(({ state }) => state === "accepted").length)).toEqual([10, 10, 10]);
    for (const { round, participants } of rounds) {
      // The function returns its part's number, and the id and the round that it was told, as metrics.
      for (const { participantId, samples, metrics } of participants)
        expect([Number(samples), metrics["id"], metrics["round"]]).toEqual([
          Number(participantId.slice(1)),
          Number(participantId.slice(1)),
          round,
        ]);
    }
    expect(rounds.map(({ accuracy }) => accuracy?.toFixed(4))).toEqual(["0.0200", "0.0400", "0.0600"]);
    const links = rounds.map(({ record, recordHash }) => ({ record: JSON.parse(record) as RoundRecord, hash: recordHash }));
    expect(firstBrokenLink(links)).toBeUndefined();
    const again = await run({ ...own, threads: 1, task: { name: "own", config: { step: 2 }, dataset: parts } });
    expect(again.at(-1)?.recordHash).toBe(rounds.at(-1)?.recordHash);
  }, 60_000);

  test("a dataset that is a partition alone is none for the evaluation of held-out data", async () => {
    const [round] = await run({ ...own, eval: {}, rounds: 1, task: { name: "own", config: { step: 2 }, dataset: parts } });
    expect([round?.evaluations.map(({ reason }) => reason), round?.accuracy?.toFixed(4)]).toEqual([[""], "0.0200"]);
  }, 60_000);

  test("an exception, a function that ends its process and a missing Python are reasons, not silence", async () => {
    const failing = (config: object, more: object = {}) =>
      run({ ...own, rounds: 1, task: { name: "own", config, dataset: parts }, ...more });
    await expect(failing({ fail: "raise" })).rejects.toThrow("ValueError: as the test wants");
    await expect(failing({ fail: "exit" })).rejects.toThrow(/the Python process of .*functions\.py ended \(3\)/);
    await expect(failing({}, { python: "/no/such/python" })).rejects.toThrow("/no/such/python cannot be started");
  }, 60_000);

  (withNumpy === undefined ? test.skip : test).each(["float16", "int8", "top_k"])(
    `compressed updates of Python clients expand here to the bytes that they name: %s${NO_NUMPY}`,
    async (compression) => {
      const config = { step: 2 };
      const rounds = await run({ ...own, rounds: 3, compression, python: withNumpy, task: { name: "own", config, dataset: parts } });
      expect(rounds.flatMap(({ participants }) => participants.filter(({ state }) => state !== "accepted"))).toEqual([]);
      expect(rounds.map(({ accuracy }) => accuracy?.toFixed(3))).toEqual(["0.020", "0.040", "0.060"]);
    },
    60_000,
  );

  test("the update of a client is clipped and noised around its function", async () => {
    const dp = { mode: "local", clipNorm: 0.5, noiseMultiplier: 1, delta: 1e-5 };
    const task = { name: "own", config: { step: 2 }, dataset: parts };
    expect(() => readSimulation({ ...own, dp, task })).toThrow("eval.mode: sites publishes exact figures of the participants' own rows");
    const [round] = await run({ ...own, rounds: 1, dp, task, eval: undefined });
    expect(round?.evaluations).toEqual([]);
    expect(round?.epsilon).toBeGreaterThan(0);
    expect(round?.participants.every(({ metrics }) => metrics["noise_deviation"] === 0.5)).toBe(true);
  }, 60_000);
});

test("what a simulation cannot be is said by its field, all at once", () => {
  expect(() => readSimulation({ task: "softmax", clients: 3, eval: { participant: 3 } })).toThrow("eval.participant: must be below 3");
  expect(readSimulation({ task: "softmax", clients: 3, eval: { participant: 2 } }).settings.eval.participant).toBe(2);
  expect(() => readSimulation({ task: "softmax", clients: 0, stragglers: { share: 1, work: "some" }, rounds: 0 })).toThrow(
    "clients: must be at least 1; stragglers.share: must be below 1; stragglers.work: must be partial or dropped; rounds: must be at least 1",
  );
});

test("a client whose work fails is data of the round, and says why", async () => {
  const wrong = { ...digits, rounds: 1, threads: 1, task: { ...digits.task, dataset: { name: "no such set" } } };
  await expect(run(wrong)).rejects.toThrow(/0 of 10 results.*no such set/);
}, 30_000);
