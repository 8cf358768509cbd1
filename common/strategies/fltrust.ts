import { declareStrategy } from "./shared/strategy.ts";

export const fltrust = declareStrategy({
  name: "fltrust",
  description: "FLTrust (Cao 2021): updates count by their cosine to a trusted one",
  settings: {
    root: {
      type: "list",
      min: 0,
      max: 1,
      whole: true,
      required: true,
      only: "aggregate",
      description: "1 for the one entry that is the server's own update, 0 for the others",
    },
    root_participant: {
      type: "number",
      min: 0,
      whole: true,
      required: true,
      only: "federation",
      description: "index of the participant with the root data set: its update is the trusted one, in every round",
    },
  },
  sees: "each",
  base: "required",
  usesWeights: false,
  robust: true,
  rootOf: ({ root_participant: index }) => Number(index),
  fill: ({ root, updates }) => ({ root: updates.map(({ id }) => (id === root ? 1 : 0)) }),
});
