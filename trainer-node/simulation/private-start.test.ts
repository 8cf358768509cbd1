import { join } from "node:path";
import { silentLogger } from "../../common/logger.ts";
import type { RoundRecord } from "../../common/training/round-record.ts";
import type { Round } from "../../proto/gen/tributary/training/v1/training.ts";
import { readSimulation } from "./options.ts";
import { simulate } from "./simulate.ts";

const digits = {
  name: "mlp",
  config: { epochs: 2, lr: 0.1, batch_size: 10, hidden: [64] },
  dataset: { name: "digits", partition: { scheme: "iid" } },
};

/** Two rounds, by default of a perceptron on digits, with noise that hides nothing, so that only the clipping shows. */
const run = (clipNorm: number, more: object = {}): Promise<readonly Round[]> => {
  const dp = { mode: "central", clipNorm, noiseMultiplier: 1e-9, delta: 1e-5 };
  const options = readSimulation({ clients: 5, threads: 2, rounds: 2, dp, task: digits, ...more });
  return simulate(options, { logger: silentLogger, signal: new AbortController().signal, onRound: () => {} });
};

test("central noise clips the change of round 1, and not the model that it starts from, whose norm is 11.7", async () => {
  const [narrow, wide, open] = [await run(1), await run(3), await run(100)];
  const [first, second] = narrow.map(({ record }) => JSON.parse(record) as RoundRecord);
  const start = { by: "coordinator", config: { task: "mlp", seed: 1, hidden: [64] }, dataset: { name: "digits" } };
  expect(first).toMatchObject({ base: expect.stringMatching(/^[0-9a-f]{64}$/), start });
  expect(second).toMatchObject({ base: first?.result });
  expect(second?.start).toBeUndefined();
  // No change is longer than 3, so a clip norm of 3 does what none does. Whole parameters were clipped to a loss of 2.2 in round 1.
  for (const round of [0, 1]) expect(wide[round]?.loss).toBeCloseTo(open[round]?.loss ?? Number.NaN, 4);
  expect(open[0]?.loss).toBeLessThan(1.3);
  // A guess has 2.3; whole parameters had 2.29 and 2.22 with a clip norm of 1.
  expect([narrow[0]?.loss, narrow[1]?.loss]).toEqual([expect.closeTo(1.94, 1), expect.closeTo(1.41, 1)]);
}, 60_000);

test("Python functions start from what their initial function returns", async () => {
  const functions = join(import.meta.dirname, "python/__fixtures__/functions.py");
  const task = { name: "own", config: { start: 40, step: 2 }, dataset: { partition: { scheme: "iid" } } };
  const rounds = await run(1, { functions, task, eval: { dataset: "rows outside the training data" } });
  expect(JSON.parse(rounds[0]?.record ?? "{}")).toMatchObject({ start: { by: "participant", participantId: "p1" } });
  // Of each step of 2 the clip norm leaves 1.
  expect(rounds.map(({ accuracy }) => accuracy?.toFixed(4))).toEqual(["0.4100", "0.4200"]);
}, 60_000);

test("own functions without an initial function cannot start, and the reason says so", async () => {
  const functions = join(import.meta.dirname, "../functions/__fixtures__/functions.ts");
  await expect(run(1, { functions, task: { name: "own" } })).rejects.toThrow(
    "Participant p1 gave no initial parameters: This node has no initial",
  );
}, 60_000);
