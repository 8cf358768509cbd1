import type { FederationSettings } from "../../common/federation-settings.ts";
import { addRounds, epsilonOf, NOTHING_SPENT } from "../compute/privacy/rdp-accountant.ts";

type Privacy = NonNullable<FederationSettings["dp"]>;

/**
 * What so many rounds have spent. Every participant counts as chosen in every round: who is chosen is no secret here, so that being
 * chosen rarely hides nobody.
 */
export function epsilonAfter({ noiseMultiplier, delta }: Pick<Privacy, "noiseMultiplier" | "delta">, rounds: number): number {
  return epsilonOf(addRounds(NOTHING_SPENT, { noiseMultiplier }, rounds), delta);
}
