import { centralDeviation, gaussianDeviation, noiseMultiplierFor } from "./noise-scale.ts";
import { addRounds, epsilonOf, NOTHING_SPENT, RENYI_ORDERS, renyiOf } from "./rdp-accountant.ts";

const DELTA = 1e-5;
const at = (values: readonly number[], order: number) => values[RENYI_ORDERS.indexOf(order)] as number;

/** E over z ~ N(0, σ²) of ((1 - q) + q exp((2z - 1) / 2σ²))^order, summed on a fine grid: the definition itself. */
function momentByIntegration(order: number, rate: number, deviation: number): number {
  const step = deviation / 500;
  let total = 0;
  for (let z = -60 * deviation; z <= 60 * deviation; z += step) {
    const density = Math.exp(-(z * z) / (2 * deviation ** 2)) / (deviation * Math.sqrt(2 * Math.PI));
    total += density * (1 - rate + rate * Math.exp((2 * z - 1) / (2 * deviation ** 2))) ** order * step;
  }
  return Math.log(total);
}

describe("the accountant", () => {
  test("a hundred rounds of everybody at multiplier 10 have the epsilon of the reference", () => {
    expect(epsilonOf(addRounds(NOTHING_SPENT, { noiseMultiplier: 10 }, 100), DELTA)).toBeCloseTo(5.298526, 6);
  });

  test("the sampled Gaussian at order 2 is log(1 + q² (exp(1/σ²) - 1))", () => {
    for (const [rate, sigma] of [
      [0.01, 1],
      [0.1, 2],
      [0.5, 0.7],
    ] as const) {
      const expected = Math.log1p(rate ** 2 * Math.expm1(1 / sigma ** 2));
      expect(at(renyiOf({ noiseMultiplier: sigma, samplingRate: rate }), 2)).toBeCloseTo(expected, 12);
    }
  });

  test("at whole orders it is the integral of the definition, between them at least that and hardly more", () => {
    const [rate, sigma] = [0.1, 1.5];
    const values = renyiOf({ noiseMultiplier: sigma, samplingRate: rate });
    for (const order of [3, 8]) expect(at(values, order) * (order - 1)).toBeCloseTo(momentByIntegration(order, rate, sigma), 9);
    for (const order of [1.5, 2.5, 6.3]) {
      const exact = momentByIntegration(order, rate, sigma);
      expect(at(values, order) * (order - 1)).toBeGreaterThanOrEqual(exact);
      expect(at(values, order) * (order - 1)).toBeLessThan(1.5 * exact);
    }
  });

  test("rounds add up whatever their order, and nothing spent is epsilon 0", () => {
    const [first, second] = [{ noiseMultiplier: 1, samplingRate: 0.1 }, { noiseMultiplier: 3 }];
    const together = addRounds(addRounds(NOTHING_SPENT, first, 5), second, 2);
    const turned = addRounds(addRounds(addRounds(NOTHING_SPENT, second, 2), first, 4), first);
    expect(epsilonOf(together, DELTA)).toBeCloseTo(epsilonOf(turned, DELTA), 12);
    expect(epsilonOf(NOTHING_SPENT, DELTA)).toBe(0);
    expect(epsilonOf(addRounds(NOTHING_SPENT, { noiseMultiplier: 0 }, 0), DELTA)).toBe(0);
  });

  test("less noise, more rounds and a larger share never cost less; no noise costs everything", () => {
    const cost = (noiseMultiplier: number, samplingRate: number, rounds: number, sampling: "poisson" | "fixed_size" = "poisson") =>
      epsilonOf(addRounds(NOTHING_SPENT, { noiseMultiplier, samplingRate, sampling }, rounds), DELTA);
    expect(cost(1, 0.1, 10)).toBeGreaterThan(cost(2, 0.1, 10));
    expect(cost(1, 0.2, 10)).toBeGreaterThan(cost(1, 0.1, 10));
    expect(cost(1, 0.1, 11)).toBeGreaterThan(cost(1, 0.1, 10));
    expect(cost(1, 0.1, 10)).toBeLessThan(cost(1, 1, 10));
    expect(cost(0, 0.1, 1)).toBe(Number.POSITIVE_INFINITY);
    expect(cost(0, 0, 1)).toBe(0);
    expect(cost(4, 0.01, 100, "fixed_size")).toBeLessThan(cost(4, 1, 100, "fixed_size"));
    // A set of fixed size at rate 1 is everybody, with twice the reach.
    expect(cost(4, 1, 7, "fixed_size")).toBe(cost(2, 1, 7));
  });

  test("the state survives JSON", () => {
    const spent = addRounds(NOTHING_SPENT, { noiseMultiplier: 1.1, samplingRate: 0.02 }, 30);
    expect(epsilonOf(JSON.parse(JSON.stringify(spent)) as number[], DELTA)).toBe(epsilonOf(spent, DELTA));
  });

  test.each([
    [() => renyiOf({ noiseMultiplier: -1 }), "noise multiplier"],
    [() => renyiOf({ noiseMultiplier: Number.NaN }), "noise multiplier"],
    [() => renyiOf({ noiseMultiplier: 1, samplingRate: 1.1 }), "sampling rate"],
    [() => epsilonOf(NOTHING_SPENT, 0), "delta"],
    [() => addRounds(NOTHING_SPENT, { noiseMultiplier: 1 }, -1), "rounds"],
  ])("what makes no sense is refused by name (%#)", (run, named) => {
    expect(run).toThrow(named);
  });
});

describe("the scale of the noise", () => {
  test("one Gaussian release at epsilon 1, delta 1e-5 has the deviation of the reference", () => {
    expect(gaussianDeviation({ epsilon: 1, delta: DELTA, sensitivity: 1 })).toBeCloseTo(4.844805, 6);
  });

  test("the noise on a mean is that of the sum by the number of clients, and by the largest share where weights differ", () => {
    expect(centralDeviation({ clipNorm: 2, noiseMultiplier: 3, weights: [1, 1, 1, 1] })).toBe(1.5);
    expect(centralDeviation({ clipNorm: 2, noiseMultiplier: 3, weights: [1, 1, 2] })).toBe(3);
    expect(() => centralDeviation({ clipNorm: 1, noiseMultiplier: 1, weights: [0, 0] })).toThrow("sum above 0");
  });

  test("the multiplier for a budget just keeps it", () => {
    const plan = { epsilon: 2, delta: DELTA, rounds: 50, samplingRate: 0.2 };
    const found = noiseMultiplierFor(plan) as number;
    const cost = (noiseMultiplier: number) => epsilonOf(addRounds(NOTHING_SPENT, { noiseMultiplier, samplingRate: 0.2 }, 50), DELTA);
    expect(cost(found)).toBeLessThanOrEqual(2);
    expect(cost(found * 0.999)).toBeGreaterThan(2);
    // With orders up to 512 no epsilon is below log(1 / delta) / 511.
    expect(noiseMultiplierFor({ ...plan, epsilon: 0.01 })).toBeUndefined();
  });
});
