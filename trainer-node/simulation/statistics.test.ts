import { silentLogger } from "../../common/logger.ts";
import { meanMetrics } from "../../common/training/metrics.ts";
import type { Round } from "../../proto/gen/tributary/training/v1/training.ts";
import { readSimulation } from "./options.ts";
import { simulate } from "./simulate.ts";

const COLUMNS = [10, 64];
const digits = (more: object) => ({
  rounds: 1,
  threads: 1,
  fraction: 1,
  task: {
    name: "statistics",
    config: {
      columns: COLUMNS,
      bounds: [
        [0, 16],
        [0, 9],
      ],
      bins: 160,
    },
    dataset: { name: "digits", partition: { scheme: "iid" } },
  },
  ...more,
});

async function figures(value: object): Promise<Readonly<Record<string, number>> & { rounds: readonly Round[] }> {
  const rounds = await simulate(readSimulation(value), { logger: silentLogger, signal: new AbortController().signal, onRound: () => {} });
  return Object.assign({ ...meanMetrics(rounds[0]?.evaluations ?? []) }, { rounds }) as never;
}

const NAMES = ["count", ...COLUMNS.flatMap((column) => ["mean", "variance", "q25", "q50", "q75"].map((name) => `x${column}/${name}`))];

test("statistics of ten participants are those of all rows together, however the rows are divided", async () => {
  const whole = await figures(digits({ clients: 1 }));
  expect(whole["count"]).toBe(1437);
  // The labels of the digits: ten classes of nearly the same size.
  expect([whole["x64/mean"], whole["x64/variance"]]).toEqual([expect.closeTo(4.5, 0), expect.closeTo(8.25, 0)]);
  const skewed = { ...digits({}).task, dataset: { name: "digits", partition: { scheme: "dirichlet", alpha: 0.3, seed: 2 } } };
  const divided = await figures(digits({ clients: 10, task: skewed }));
  for (const name of NAMES) expect([name, divided[name]]).toEqual([name, expect.closeTo(whole[name] ?? Number.NaN, 6)]);
  expect(divided.rounds[0]?.participants.every(({ samples }) => samples === undefined)).toBe(true);
});

test("with dp the noise is on every sum, and its epsilon is counted", async () => {
  const { task } = digits({});
  const dp = { mode: "central", clipNorm: 3, noiseMultiplier: 1, delta: 1e-5 };
  const noised = await figures(digits({ clients: 200, dp, task: { ...task, config: { ...task.config, rows_max: 8 } } }));
  expect(noised.rounds[0]?.epsilon).toBeCloseTo(4.7285, 2);
  const whole = await figures(digits({ clients: 1 }));
  expect(noised["x64/mean"]).not.toBe(whole["x64/mean"]);
  // Deviation 3/200 on means of about 0.9 and 0.45: a tenth of the range is more than six of them.
  for (const name of ["x10/mean", "x64/mean"]) expect(Math.abs((noised[name] ?? 99) - (whole[name] ?? 0))).toBeLessThan(1.6);
  expect(Math.abs((noised["count"] ?? 0) / 1437 - 1)).toBeLessThan(0.12);
});

test.each([
  [{ bounds: [[0, 16]] }, "config.bounds: must be [low, high], or 2 such pairs"],
  [{ columns: [65] }, "config.columns: has 65, and the rows have 65 columns"],
  [{ bounds: [3, 1] }, "config.bounds: must have the lower bound first"],
])("%j is refused by its field", async (config, message) => {
  const { task } = digits({});
  await expect(figures(digits({ clients: 2, task: { ...task, config: { ...task.config, ...config } } }))).rejects.toThrow(message);
});
