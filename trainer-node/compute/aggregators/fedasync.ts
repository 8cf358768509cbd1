import { fedasync as strategy } from "../../../common/strategies/fedasync.ts";
import { type Aggregator, requiredBase } from "./aggregator.ts";

/**
 * Xie et al. 2019: w = (1 - α·s) · w + α·s · x, where s decreases with the client's staleness in rounds. Several clients are mixed in one
 * after the other, the most stale first, so that the result does not depend on their order in the request.
 */
export const fedasync: Aggregator = {
  ...strategy,
  columnwise: true,
  run: (input) => {
    const { vectors, settings } = input;
    const staleness = settings.list("staleness");
    const [alpha, a, b] = [settings.number("alpha"), settings.number("a"), settings.number("b")];
    const decay = {
      polynomial: (late: number) => (1 + late) ** -a,
      hinge: (late: number) => (late <= b ? 1 : 1 / (a * (late - b) + 1)),
      constant: () => 1,
    };
    const strength = decay[settings.choice("decay") as keyof typeof decay];
    const mixes = staleness.map((late) => alpha * strength(late));
    const order = [...mixes.keys()].toSorted((left, right) => (staleness[right] as number) - (staleness[left] as number) || left - right);
    // The steps are linear, so one pass with the final coefficients covers all of them.
    const coefficients = new Array<number>(vectors.count).fill(0);
    let baseCoefficient = 1;
    for (const client of order) {
      const mix = mixes[client] as number;
      for (let other = 0; other < coefficients.length; other++) coefficients[other] = (coefficients[other] as number) * (1 - mix);
      coefficients[client] = mix;
      baseCoefficient *= 1 - mix;
    }
    return {
      model: vectors.combine(coefficients, { divisor: 1, base: { model: requiredBase(input), coefficient: baseCoefficient } }),
      verdicts: mixes.map((score) => ({ accepted: true, score })),
    };
  },
};
