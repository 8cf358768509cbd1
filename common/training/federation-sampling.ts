import { findStrategy } from "../strategies/shared/registry.ts";
import { countedShare } from "./client-sampling.ts";
import { isOpen } from "./enrollment-settings.ts";
import type { FederationSettings } from "./federation-settings.ts";
import type { ClientSampling } from "./sampled-gaussian.ts";

/** The settings that decide it, as they are stored: what an earlier version left out has its default. */
type Sampled = Partial<Pick<FederationSettings, "dp" | "secureAggregation" | "fraction" | "overSelect" | "selection" | "enrollment">> & {
  readonly strategy?: { readonly name: string };
};

/** The probability with which a participant is sampled, if epsilon counts on it. */
export function sampledShare({ fraction = 1, overSelect = 0, strategy, ...settings }: Sampled): number | undefined {
  const isSum = findStrategy(strategy?.name ?? "")?.sees === "sum";
  return countedShare({ ...settings, fraction, overSelect, isOpen: isOpen(settings), isSum });
}

/** The sampling of so many participants that a federation's epsilon counts on; undefined if there is none. */
export function samplingOf(settings: Sampled, participants: number): ClientSampling | undefined {
  const share = sampledShare(settings);
  return share === undefined ? undefined : { share, participants };
}
