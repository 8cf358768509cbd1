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
  },
  sees: "each",
  base: "required",
  usesWeights: false,
  robust: true,
  notInFederations: "needs an update of the server's own",
});
