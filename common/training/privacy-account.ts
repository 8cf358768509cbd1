import { type ClientSampling, sampledEpsilon } from "./sampled-gaussian.ts";

/**
 * What rounds of the Gaussian mechanism cost, as one number that adds up: zero-concentrated differential privacy (Bun and Steinke 2016), in
 * which the Rényi divergence at every order is the order times rho. Local and central noise cost the same, since both are in units of the
 * clip norm.
 */
export function rhoOfRound({ noiseMultiplier }: { noiseMultiplier: number }): number {
  return 1 / (2 * noiseMultiplier ** 2);
}

/**
 * The least epsilon over all real orders, each converted as Canonne, Kamath and Steinke (2020, proposition 12) do it. Every order gives an
 * epsilon that holds, so a search that ends beside the best order is too high, never too low.
 */
export function epsilonOfRho(rho: number, delta: number): number {
  if (rho === 0 || rho === Number.POSITIVE_INFINITY) return rho;
  // In terms of the order less one: with little noise the order itself is rounded to one, and the result is not a number.
  const epsilonAt = (logarithm: number): number => {
    const above = Math.exp(logarithm);
    return rho * (1 + above) + logarithm - Math.log1p(above) - (Math.log(delta) + Math.log1p(above)) / above;
  };
  // The best order of the plain conversion, rho + 2 sqrt(rho ln(1 / delta)); ours is near it.
  const middle = Math.log(Math.log(1 / delta) / rho) / 2;
  let [low, high] = [middle - 5, middle + 5];
  for (let step = 0; step < 60; step++) {
    const [left, right] = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
    if (epsilonAt(left) < epsilonAt(right)) high = right;
    else low = left;
  }
  return Math.max(0, epsilonAt((low + high) / 2));
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Below this the account of sampling takes seconds to minutes, and epsilon is in the hundreds with it or without. */
const SAMPLED_NOISE_MIN = 0.2;

/**
 * The epsilon of so many rounds of one federation. Without sampling, every participant counts as selected in every round. With few
 * participants or little noise, the sampling hides too little of who took part, and the same epsilon counts as without it.
 */
export function epsilonAfter(dp: { noiseMultiplier: number; delta: number }, rounds: number, sampling?: ClientSampling): number {
  const whole = epsilonOfRho(rounds * rhoOfRound(dp), dp.delta);
  return sampling && rounds > 0 && dp.noiseMultiplier >= SAMPLED_NOISE_MIN
    ? Math.min(whole, sampledEpsilon(dp, { rounds, sampling }))
    : whole;
}
