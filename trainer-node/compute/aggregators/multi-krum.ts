import { multiKrum as strategy } from "../../../common/strategies/multi-krum.ts";
import type { Aggregator, AggregatorInput, AggregatorOutput } from "./aggregator.ts";
import { krumScores, lowest } from "./krum-scores.ts";
import { weightedMean } from "./weighted-mean.ts";

/** Blanchard et al. 2017: the unweighted mean of the m clients with the lowest Krum scores. */
export const multiKrum: Aggregator = {
  ...strategy,
  run: (input) => {
    const { count } = input.vectors;
    const keep = input.settings.optional("m") ?? Math.max(1, count - input.settings.number("f"));
    return keepLowest(input, keep);
  },
};

/** The unweighted mean of the `keep` clients with the lowest Krum scores. */
export function keepLowest({ vectors, settings }: AggregatorInput, keep: number): AggregatorOutput {
  const byzantine = settings.number("f");
  const everyone = Array.from({ length: vectors.count }, (_, client) => client);
  const scores = krumScores(vectors.distances(), everyone, { all: vectors.count, byzantine });
  const kept = lowest(scores, keep);
  const chosen = new Set(kept);
  return {
    // Clients are summed in their fixed order and not by score, because a sum has one order.
    model: weightedMean(
      vectors,
      everyone.map((client) => (chosen.has(client) ? 1 : 0)),
    ),
    verdicts: scores.map((score, client) =>
      chosen.has(client) ? { accepted: true, score } : { accepted: false, score, reason: "FAR_FROM_OTHERS" },
    ),
  };
}
