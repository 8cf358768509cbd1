import { stepProblems, weightOfSteps } from "./shared/local-steps.ts";
import { declareStrategy } from "./shared/strategy.ts";

export const fednova = declareStrategy({
  name: "fednova",
  description: "FedNova (Wang 2020): updates divided by their number of local steps",
  settings: {
    steps: {
      type: "list",
      above: 0,
      required: true,
      only: "aggregate",
      description: "local steps τ_i of each client; with momentum or a proximal term the sum ‖a_i‖₁ of what they weigh",
    },
  },
  sees: "each",
  base: "required",
  usesWeights: true,
  needs: ["steps"],
  taskProblems: (_given, config) => stepProblems(config),
  // Participants that do not say how many samples they have count as equally large. One with 0 samples weighs nothing, whatever its steps.
  fill: ({ config, updates }) => ({ steps: updates.map(({ samples }) => weightOfSteps(samples, config)) }),
});
