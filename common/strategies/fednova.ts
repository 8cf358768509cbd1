import { declareStrategy } from "./shared/strategy.ts";

export const fednova = declareStrategy({
  name: "fednova",
  description: "FedNova (Wang 2020): updates divided by their number of local steps",
  settings: { steps: { type: "list", above: 0, required: true, only: "aggregate", description: "local steps τ_i of each client" } },
  sees: "each",
  base: "required",
  usesWeights: true,
  needs: ["steps"],
  // Participants that do not say how many samples they have count as equally large. One with 0 samples weighs nothing, whatever its steps.
  fill: ({ config: { epochs = 1, batch_size: batch = 10 }, updates }) => ({
    steps: updates.map(({ weight }) => Number(epochs) * Math.max(1, Math.ceil(weight / Number(batch)))),
  }),
});
