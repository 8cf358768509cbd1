import { bulyan as strategy } from "../../../common/strategies/bulyan.ts";
import type { SortedReduce } from "../clients/vectors.ts";
import type { Aggregator } from "./aggregator.ts";
import { krumScores, lowest } from "./krum-scores.ts";

/**
 * El Mhamdi et al. 2018: Krum selects n - 2f clients one after the other; then every coordinate is the mean of the n - 4f values nearest to
 * the median of the selected.
 */
export const bulyan: Aggregator = {
  ...strategy,
  run: ({ vectors, settings }) => {
    const byzantine = settings.number("f");
    const distances = vectors.distances();
    const everyone = Array.from({ length: vectors.count }, (_, client) => client);
    const scores = krumScores(distances, everyone, { all: vectors.count, byzantine });
    const chosen: number[] = [];
    let left = everyone;
    while (chosen.length < vectors.count - 2 * byzantine) {
      const [best = 0] = lowest(krumScores(distances, left, { all: vectors.count, byzantine }), 1);
      chosen.push(left[best] as number);
      left = left.filter((_, place) => place !== best);
    }
    const kept = new Set(chosen);
    const inOrder = everyone.filter((client) => kept.has(client));
    return {
      model: vectors.select(inOrder).reduceSorted(nearestToMedian(inOrder.length, inOrder.length - 2 * byzantine)),
      verdicts: scores.map((score, client) =>
        kept.has(client) ? { accepted: true, score } : { accepted: false, score, reason: "FAR_FROM_OTHERS" },
      ),
    };
  },
};

/** The mean of the `keep` values nearest to the median. In sorted order they are neighbors, so a window moves to where it fits best. */
function nearestToMedian(count: number, keep: number): SortedReduce {
  return (rows, stride, out) => {
    for (let column = 0; column < out.length; column++) {
      const value = (row: number) => rows[row * stride + column] as number;
      const middle = (value(Math.floor((count - 1) / 2)) + value(Math.floor(count / 2))) / 2;
      let first = 0;
      while (first + keep < count && middle - value(first) > value(first + keep) - middle) first++;
      let total = 0;
      for (let row = first; row < first + keep; row++) total += value(row) / keep;
      out[column] = total;
    }
  };
}
