import { declareStrategy } from "./shared/strategy.ts";

export const normClip = declareStrategy({
  name: "norm_clip",
  description: "norm clipping (Sun 2019): updates shortened to at most clip_norm, then averaged",
  settings: { clip_norm: { type: "number", above: 0, required: true, description: "greatest length of an update" } },
  sees: "each",
  base: "optional",
  usesWeights: true,
  robust: true,
});
