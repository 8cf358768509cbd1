import { declareStrategy } from "./shared/strategy.ts";

const [LR, Q] = [0.1, 0.2];
/** Powers of losses are multiplied and summed, so they may not be near the largest number. */
const POWER_MAX = 1e100;

export const qfedavg = declareStrategy({
  name: "qfedavg",
  description: "q-FedAvg (Li 2020): fairness, clients of higher loss count for more",
  settings: {
    losses: { type: "list", min: 0, required: true, only: "aggregate", description: "loss of the base on each client's data" },
    q: { type: "number", min: 0, max: 100, default: Q, description: "0 is the plain mean" },
    lr: {
      type: "number",
      above: 0,
      max: 100,
      default: LR,
      description: "learning rate of the clients, 1 / L; in a federation that of its task",
    },
  },
  sees: "each",
  base: "required",
  usesWeights: false,
  needs: ["loss_before"],
  metrics: ["loss_before"],
  metricProblem: ({ q = Q }, { loss_before: loss = 0 }) => {
    if (loss < 0) return `loss_before must not be negative, and is ${loss}`;
    return loss ** Number(q) > POWER_MAX ? `loss_before is too large for q = ${q}: ${loss}` : undefined;
  },
  withoutNoise: "round records have every participant's exact loss",
  prepare: () => ({ loss_before: true }),
  fill: ({ given, config, updates }) => ({
    lr: given["lr"] ?? config["lr"] ?? LR,
    losses: updates.map(({ metrics }) => metrics["loss_before"]),
  }),
});
