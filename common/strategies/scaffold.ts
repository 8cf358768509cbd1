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
      description: "number N of all clients; the number of this call where absent",
    },
  },
  sees: "each",
  base: "required",
  usesWeights: false,
  notInFederations: "needs control variates that participants keep from round to round",
});
