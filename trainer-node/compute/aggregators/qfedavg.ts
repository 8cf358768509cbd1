import { qfedavg as strategy } from "../../../common/strategies/qfedavg.ts";
import { InputProblem } from "../problem.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";
import { stepFrom, sum } from "./weighted-mean.ts";

/**
 * Li et al. 2020, q-FFL: with L = 1/lr and F_k the client's loss before training, w - Σ F_k^q · L·(w - x_k) / Σ h_k, where h_k = q ·
 * F_k^(q-1) · ‖L·(w - x_k)‖² + L · F_k^q. Clients with a higher loss weigh more; q = 0 is the unweighted mean.
 */
export const qfedavg: Aggregator = {
  ...strategy,
  run: (input) => {
    const { vectors, settings } = input;
    const base = requiredBase(input);
    const [q, lipschitz] = [settings.number("q"), 1 / settings.number("lr")];
    const losses = settings.list("losses");
    const norms = vectors.distancesTo(base);
    const powers = losses.map((loss) => loss ** q);
    const steps = losses.map((loss, client) => {
      const slope = q === 0 ? 0 : q * Math.max(loss, 1e-10) ** (q - 1);
      return slope * lipschitz * lipschitz * (norms[client] as number) + lipschitz * (powers[client] as number);
    });
    const total = sum(steps);
    if (!(total > 0)) throw new InputProblem("VALIDATION_ERROR", "strategy.losses must not all be 0", { setting: "losses" });
    return {
      model: stepFrom(
        base,
        vectors,
        powers.map((power) => (power * lipschitz) / total),
      ),
      verdicts: powers.map((power) => ({ accepted: true, score: power })),
    };
  },
};
