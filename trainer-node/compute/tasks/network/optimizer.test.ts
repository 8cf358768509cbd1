import { fednova } from "../../../../common/strategies/fednova.ts";
import { createKernels } from "../../kernels/create-kernels.ts";
import type { TrainSettings } from "../task.ts";
import { createOptimizer } from "./optimizer.ts";

const RATE = 0.1;
const SETTINGS = { epochs: 1, batchSize: 1, learningRate: RATE, seed: 1, optimizer: "sgd", momentum: 0.9, mu: 0 } as const;

/** How far the optimizer goes in so many steps of one gradient, in units of the learning rate: the sum of the weights of its gradients. */
function distance(steps: number, settings: Partial<TrainSettings>): number {
  const kernels = createKernels(1);
  const [weights, gradients] = [kernels.floats(4), kernels.floats(4)];
  const optimizer = createOptimizer(kernels, { weights, gradients, correction: undefined }, { ...SETTINGS, ...settings });
  for (let step = 0; step < steps; step++) {
    gradients.fill(1);
    optimizer.step();
  }
  return -(weights[0] as number) / RATE;
}

/** What the strategy divides the update of so many steps by. */
function normOf(steps: number, config: Readonly<Record<string, unknown>>): number {
  const update = { id: "p1", weight: 1, samples: steps, baseRound: 0, metrics: {} };
  const given = { given: { name: "fednova" }, config: { lr: RATE, batch_size: 1, ...config }, updates: [update] };
  const filled = fednova.fill?.({ ...given, round: 2, participants: 1, root: undefined }) as { steps: [number] };
  return filled.steps[0];
}

describe("fednova divides an update by the sum of the weights that its optimizer gives to the gradients", () => {
  test.each<[string, Record<string, unknown>, Partial<TrainSettings>]>([
    ["plain SGD", {}, {}],
    ["momentum by its default", { optimizer: "momentum" }, { optimizer: "momentum", momentum: 0.9 }],
    ["momentum of 0.5", { optimizer: "momentum", momentum: 0.5 }, { optimizer: "momentum", momentum: 0.5 }],
    ["momentum of 0", { optimizer: "momentum", momentum: 0 }, { optimizer: "momentum", momentum: 0 }],
    ["a proximal term", { mu: 0.5 }, { mu: 0.5 }],
    ["a small proximal term", { mu: 1e-9 }, { mu: 1e-9 }],
    ["a strong proximal term", { mu: 9 }, { mu: 9 }],
  ])("%s", (_name, config, settings) => {
    for (const steps of [1, 2, 7, 100]) expect(normOf(steps, config) / distance(steps, settings)).toBeCloseTo(1, 5);
  });

  test("a momentum near 1 and any number of steps give a number that can be recorded", () => {
    expect(normOf(10, { optimizer: "momentum", momentum: 1 - 1e-12 })).toBeLessThanOrEqual(55);
    for (const config of [{ optimizer: "momentum", momentum: 1 - 1e-15 }, { optimizer: "momentum" }, { mu: 1e-300 }, { mu: 9 }]) {
      const norm = normOf(1e12, config);
      expect([config, Number.isFinite(norm) && norm > 0]).toEqual([config, true]);
    }
  });
});
