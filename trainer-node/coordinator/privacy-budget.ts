import type { FederationSettings } from "../../common/federation-settings.ts";

type Privacy = NonNullable<FederationSettings["dp"]>;

/** Orders at which the Rényi divergence is looked at; the best bound of them counts. */
const ORDERS = [...Array.from({ length: 99 }, (_, index) => 1 + (index + 1) / 10), 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024];

/**
 * What so many rounds of the Gaussian mechanism have spent: Rényi divergences add up over rounds, and become (ε, δ) at the end. Every
 * participant counts as chosen in every round, which is never too little.
 */
export function epsilonAfter({ noiseMultiplier, delta }: Pick<Privacy, "noiseMultiplier" | "delta">, rounds: number): number {
  if (rounds === 0) return 0;
  const bounds = ORDERS.map((order) => (rounds * order) / (2 * noiseMultiplier ** 2) + Math.log(1 / delta) / (order - 1));
  return Math.min(...bounds);
}
