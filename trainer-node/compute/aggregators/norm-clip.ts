import { normClip as strategy } from "../../../common/strategies/norm-clip.ts";
import type { Aggregator } from "./aggregator.ts";
import { shares, sum } from "./weighted-mean.ts";

/**
 * Sun et al. 2019: every update is clipped to a norm of at most `clip_norm`, then averaged by weight. Without a base, the parameters are
 * the update.
 */
export const normClip: Aggregator = {
  ...strategy,
  run: ({ vectors, weights, base, settings }) => {
    const limit = settings.number("clip_norm");
    const lengths = [...vectors.distancesTo(base ?? vectors.zeros())].map(Math.sqrt);
    const factors = lengths.map((length) => (length > limit ? limit / length : 1));
    const coefficients = shares(weights).map((part, client) => part * (factors[client] as number));
    const from = base && { base: { model: base, coefficient: 1 - sum(coefficients) } };
    return {
      model: vectors.combine(coefficients, { divisor: 1, ...from }),
      verdicts: factors.map((score, client) => ({
        accepted: (weights[client] as number) > 0,
        score,
        ...(score < 1 && { reason: "CLIPPED" }),
      })),
    };
  },
};
