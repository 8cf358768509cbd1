import { declareStrategy } from "./shared/strategy.ts";

export const scaffold = declareStrategy({
  name: "scaffold",
  description: 'SCAFFOLD (Karimireddy 2020): each tensor "w" comes with "control:w", the client\'s change of its control variate',
  settings: {
    lr: { type: "number", above: 0, max: 100, default: 1, description: "server learning rate" },
    total_clients: {
      type: "number",
      min: 1,
      whole: true,
      only: "aggregate",
      description: "number N of all clients; the number of this call where absent",
    },
  },
  sees: "each",
  base: "optional",
  usesWeights: false,
  needs: ["controls"],
  carriesControls: true,
  withoutNoise: "the control variates would reveal what the noise hides",
  // The change alone: the coordinator sums the changes of each participant and sends the sum back.
  prepare: () => ({ scaffold: "change" }),
  fill: ({ participants }) => ({ total_clients: participants }),
});
