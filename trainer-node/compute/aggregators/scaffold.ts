import { scaffold as strategy } from "../../../common/strategies/scaffold.ts";
import { mapModels } from "../clients/model.ts";
import { CONTROL_PREFIX } from "../control-variates.ts";
import { InputProblem } from "../problem.ts";
import type { Floats } from "../tensor.ts";
import type { Aggregator } from "./aggregator.ts";
import { weightedMean } from "./weighted-mean.ts";

/**
 * Karimireddy et al. 2020: x = x + lr · mean(Δy_i), c = c + |S|/N · mean(Δc_i). Both means are unweighted, as in the paper. The base has x
 * and c; without one, clients started with a model of their own and with c = 0.
 */
export const scaffold: Aggregator = {
  ...strategy,
  run: (input) => {
    const { vectors, names, settings, base } = input;
    refuseUnpaired(names);
    const average = weightedMean(vectors, new Array(vectors.count).fill(1));
    const lr = settings.number("lr");
    const share = Math.min(1, vectors.count / (settings.optional("total_clients") ?? vectors.count));
    const stepped = base ? mapModels([base, average], (weight, mean) => weight + lr * (mean - weight)) : average;
    const control = mapModels([base ?? vectors.zeros(), average], (held, change) => held + share * change);
    const isControl = (index: number) => (names[index] ?? "").startsWith(CONTROL_PREFIX);
    return { model: control.map((values, index) => (isControl(index) ? values : (stepped[index] as Floats))) };
  },
};

function refuseUnpaired(names: readonly string[]): void {
  const known = new Set(names);
  const lonely = names.find((name) => !name.startsWith(CONTROL_PREFIX) && !known.has(CONTROL_PREFIX + name));
  if (lonely !== undefined) {
    throw new InputProblem("SHAPE_MISMATCH", `scaffold requires a tensor "${CONTROL_PREFIX}${lonely}" beside "${lonely}"`, {
      tensor: CONTROL_PREFIX + lonely,
    });
  }
}
