import fc from "fast-check";
import { epsilonAfter, epsilonOfRho, rhoOfRound } from "./privacy-account.ts";

/**
 * Noise multiplier, rounds, delta; the epsilon of Google's dp-accounting 0.6.0 (`RdpAccountant`, its default orders, `GaussianDpEvent` composed
 * that many times); the exact epsilon of the same Gaussian mechanism (Balle and Wang 2018, theorem 8, solved with 60 digits).
 */
const REFERENCE = [
  [0.7, 1, 1e-5, 7.162778, 6.652488],
  [0.7, 1, 1e-6, 7.858075, 7.372643],
  [0.7, 10, 1e-5, 30.534794, 28.769262],
  [0.7, 10, 1e-6, 32.667011, 30.996794],
  [0.7, 100, 1e-5, 168.688595, 162.093575],
  [0.7, 100, 1e-6, 175.301976, 169.084382],
  [0.7, 1000, 1e-5, 1234.227237, 1212.120847],
  [0.7, 1000, 1e-6, 1257.253088, 1234.195299],
  [1, 1, 1e-5, 4.728507, 4.377178],
  [1, 1, 1e-6, 5.22154, 4.886554],
  [1, 10, 1e-5, 19.053598, 17.856587],
  [1, 10, 1e-6, 20.551992, 19.423656],
  [1, 100, 1e-5, 96.116308, 91.81729],
  [1, 100, 1e-6, 100.721479, 96.717272],
  [1, 1000, 1e-5, 654.86126, 633.929851],
  [1, 1000, 1e-6, 666.374186, 649.385089],
  [2, 1, 1e-5, 2.165716, 1.993091],
  [2, 1, 1e-6, 2.419102, 2.254085],
  [2, 10, 1e-5, 8.079406, 7.511276],
  [2, 10, 1e-6, 8.846874, 8.306225],
  [2, 100, 1e-5, 35.081754, 33.103732],
  [2, 100, 1e-6, 37.429216, 35.566344],
  [2, 1000, 1e-5, 198.535534, 191.549201],
  [2, 1000, 1e-6, 206.210817, 199.284569],
  [5, 1, 1e-5, 0.794522, 0.725522],
  [5, 1, 1e-6, 0.899939, 0.834118],
  [5, 10, 1e-5, 2.813653, 2.594383],
  [5, 10, 1e-6, 3.13109, 2.921601],
  [5, 100, 1e-5, 10.72551, 9.997256],
  [5, 100, 1e-6, 11.688627, 10.997151],
  [5, 1000, 1e-5, 48.801693, 46.21121],
  [5, 1000, 1e-6, 51.723725, 49.319277],
] as const;

test.each(REFERENCE)("multiplier %d, %d rounds, delta %d: not above dp-accounting's epsilon, nor below the exact one", (...row) => {
  const [noiseMultiplier, rounds, delta, reference, exact] = row;
  const epsilon = epsilonAfter({ noiseMultiplier, delta }, rounds);
  // The reference is rounded to six digits after the point, and its orders are a grid where ours are continuous.
  expect(epsilon).toBeLessThanOrEqual(reference + 1e-6);
  expect(epsilon).toBeGreaterThan(0.99 * reference);
  expect(epsilon).toBeGreaterThanOrEqual(exact);
});

/**
 * Share of sampled participants, noise multiplier, rounds, delta; the epsilon of dp-accounting 0.6.0 (`RdpAccountant`, its default orders,
 * `PoissonSampledDpEvent` of a `GaussianDpEvent`, composed that many times).
 */
const SAMPLED = [
  [0.01, 0.8, 100, 1e-5, 2.185328],
  [0.01, 1, 1000, 1e-5, 2.101367],
  [0.01, 1, 1000, 1e-6, 2.436694],
  [0.01, 2, 10000, 1e-6, 2.629142],
  [0.05, 0.8, 50, 1e-5, 5.29527],
  [0.05, 1, 100, 1e-5, 4.038913],
  [0.05, 2, 1000, 1e-5, 4.024352],
  [0.1, 1, 10, 1e-5, 3.441643],
  [0.1, 1, 100, 1e-6, 8.921392],
  [0.1, 4, 1000, 1e-6, 4.148712],
  [0.3, 1, 100, 1e-5, 24.505956],
  [0.2, 4, 1000, 1e-5, 8.332766],
] as const;

test.each(SAMPLED)("share %d, multiplier %d, %d rounds, delta %d: within 1 %% of dp-accounting's epsilon, and not above", (...row) => {
  const [share, noiseMultiplier, rounds, delta, reference] = row;
  const epsilon = epsilonAfter({ noiseMultiplier, delta }, rounds, { share, participants: 100_000 });
  // The reference is rounded to six digits after the point, and its orders are a grid.
  expect(epsilon).toBeLessThanOrEqual(reference + 1e-6);
  expect(epsilon).toBeGreaterThan(0.99 * reference);
});

test("few participants hide little of who took part: epsilon rises to that without sampling, and never above", () => {
  const dp = { noiseMultiplier: 1, delta: 1e-5 };
  const whole = epsilonAfter(dp, 10);
  const sampled = [100_000, 1000, 200, 50, 10, 1].map((participants) => epsilonAfter(dp, 10, { share: 0.1, participants }));
  expect(sampled.toSorted((left, right) => left - right)).toEqual(sampled);
  expect(sampled[0]).toBeLessThan(whole / 4);
  expect(sampled.at(-1)).toBe(whole);
});

test("with hardly any noise sampling is not counted: the account of it would take minutes, which a federation's settings must not cost", () => {
  const dp = { noiseMultiplier: 0.01, delta: 1e-5 };
  const beganMs = performance.now();
  expect(epsilonAfter(dp, 10, { share: 0.5, participants: 1000 })).toBe(epsilonAfter(dp, 10));
  expect(performance.now() - beganMs).toBeLessThan(1000);
});

test("whatever the noise, epsilon is at most that of the plain conversion, and grows with rho", () => {
  const rhos = fc.double({ min: 1e-12, max: 1e6, noNaN: true });
  const deltas = fc.double({ min: 1e-12, max: 0.5, noNaN: true });
  fc.assert(
    fc.property(rhos, deltas, (rho, delta) => {
      const epsilon = epsilonOfRho(rho, delta);
      expect(epsilon).toBeGreaterThanOrEqual(0);
      expect(epsilon).toBeLessThanOrEqual(rho + 2 * Math.sqrt(rho * Math.log(1 / delta)));
      expect(epsilonOfRho(rho * 1.01, delta)).toBeGreaterThanOrEqual(epsilon);
    }),
  );
});

test("with hardly any noise epsilon is a number too, and not below rho: what is not a number would fit into every budget", () => {
  const exponents = fc.double({ min: 6, max: 150, noNaN: true });
  const deltas = fc.double({ min: 1e-12, max: 0.5, noNaN: true });
  fc.assert(
    fc.property(exponents, deltas, (exponent, delta) => {
      const rho = 10 ** exponent;
      expect(epsilonOfRho(rho, delta)).toBeGreaterThanOrEqual(rho);
      expect(epsilonOfRho(rho, delta)).toBeLessThanOrEqual((rho + 2 * Math.sqrt(rho * Math.log(1 / delta))) * (1 + 1e-12));
    }),
  );
});

test("nothing spent is epsilon 0, and no noise is no privacy", () => {
  expect(epsilonOfRho(0, 1e-5)).toBe(0);
  expect(epsilonOfRho(rhoOfRound({ noiseMultiplier: 0 }), 1e-5)).toBe(Number.POSITIVE_INFINITY);
});
