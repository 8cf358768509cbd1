import { scaffold as strategy } from "../../../common/strategies/scaffold.ts";
import { type Model, mapModels } from "../clients/model.ts";
import { CONTROL_PREFIX } from "../control-variates.ts";
import { InputProblem } from "../problem.ts";
import type { Floats } from "../tensor.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";
import { weightedMean } from "./weighted-mean.ts";

/** Karimireddy et al. 2020: x = x + lr · mean(Δy_i), c = c + |S|/N · mean(Δc_i). Both means are unweighted, as in the paper. */
export const scaffold: Aggregator = {
  ...strategy,
  slots: ["control"],
  run: (input) => {
    const { vectors, names, settings, state } = input;
    refuseUnpaired(names);
    const base = requiredBase(input);
    const average = weightedMean(vectors, new Array(vectors.count).fill(1));
    const lr = settings.number("lr");
    const share = Math.min(1, vectors.count / (settings.optional("total_clients") ?? vectors.count));
    const stepped = mapModels([base, average], (weight, mean) => weight + lr * (mean - weight));
    const control = mapModels([state["control"] ?? vectors.zeros(), average], (held, change) => held + share * change);
    const isControl = (index: number) => (names[index] ?? "").startsWith(CONTROL_PREFIX);
    const pick = (chosen: Model, others: Model): Floats[] =>
      chosen.map((values, index) => (isControl(index) ? values : (others[index] as Floats)));
    return { model: pick(control, stepped), state: { control: pick(control, vectors.zeros()) } };
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
