import { fltrust as strategy } from "../../../common/strategies/fltrust.ts";
import { dotModels } from "../clients/model.ts";
import { InputProblem } from "../problem.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";
import { stepFrom, sum } from "./weighted-mean.ts";

/**
 * Cao et al. 2021: one entry of the list is the server's own update, trained on its root data. Each other update is weighted by its cosine
 * to it, with 0 for a negative cosine, and scaled to its length. The root itself is not part of the mean.
 */
export const fltrust: Aggregator = {
  ...strategy,
  references: (settings) => settings.list("root"),
  run: (input) => {
    const { vectors, settings } = input;
    const base = requiredBase(input);
    const flags = settings.list("root");
    const root = flags.indexOf(1);
    if (root < 0 || sum(flags) !== 1)
      throw new InputProblem("VALIDATION_ERROR", "strategy.root must have exactly one 1", { setting: "root" });
    if (vectors.count < 2) throw new InputProblem("TOO_FEW_CLIENTS", "fltrust requires a client beside the root");
    const trusted = vectors.combine(flags, { divisor: 1, base: { model: base, coefficient: -1 } });
    const offset = dotModels(base, trusted);
    const lengths = [...vectors.distancesTo(base)].map(Math.sqrt);
    const trustedLength = lengths[root] as number;
    const dots = vectors.dots(trusted);
    const trust = lengths.map((length, client) => {
      const cosine = length === 0 || trustedLength === 0 ? 0 : ((dots[client] as number) - offset) / (length * trustedLength);
      return client === root ? 0 : Math.max(0, Math.min(1, cosine));
    });
    const total = sum(trust);
    const coefficients = trust.map((score, client) => (score === 0 ? 0 : (score * trustedLength) / (lengths[client] as number) / total));
    return {
      model: stepFrom(base, vectors, coefficients),
      verdicts: trust.map((score, client) => {
        if (client === root) return { accepted: true, score: 1, reason: "ROOT" };
        return score > 0 ? { accepted: true, score } : { accepted: false, score, reason: "AGAINST_ROOT" };
      }),
    };
  },
};
