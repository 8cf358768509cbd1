/**
 * What rounds of the Gaussian mechanism cost, as one number that adds up: zero-concentrated differential privacy (Bun and Steinke 2016), in
 * which the Rényi divergence at every order is the order times rho. Everybody who was chosen took part: who is chosen is no secret, so being chosen
 * rarely hides nobody. Noise of the participants' own and noise of the coordinator's cost the same, for both are in units of the clip norm.
 */
export function rhoOfRound({ noiseMultiplier }: { noiseMultiplier: number }): number {
  return 1 / (2 * noiseMultiplier ** 2);
}

/** The least epsilon over all real orders: rho + 2 sqrt(rho ln(1 / delta)). */
export function epsilonOfRho(rho: number, delta: number): number {
  return rho + 2 * Math.sqrt(rho * Math.log(1 / delta));
}
