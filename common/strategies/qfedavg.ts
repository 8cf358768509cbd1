import { declareStrategy } from "./shared/strategy.ts";

const LR = 0.1;

export const qfedavg = declareStrategy({
  name: "qfedavg",
  description: "q-FedAvg (Li 2020): fairness, clients of higher loss count for more",
  settings: {
    losses: { type: "list", min: 0, required: true, only: "aggregate", description: "loss of the base on each client's data" },
    q: { type: "number", min: 0, max: 100, default: 0.2, description: "0 is the plain mean" },
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
  withoutNoise: "round records have every participant's exact loss",
  prepare: () => ({ loss_before: true }),
  fill: ({ given, config, updates }) => ({
    lr: given["lr"] ?? config["lr"] ?? LR,
    losses: updates.map(({ metrics }) => metrics["loss_before"]),
  }),
});
