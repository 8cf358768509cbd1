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

/**
 * What does not work with rounds that sample each participant independently, by path. A round that waited for more participants than it drew, or
 * drew again, would not be the sample that epsilon counts on.
 */
export function samplingProblems(settings: Sampled & { readonly minResults?: number | undefined }): { path: string[]; message: string }[] {
  if ((settings.minResults ?? 1) <= 1 || sampledShare(settings) === undefined) return [];
  const message =
    "must be 1 or absent with a fraction below 1 and dp.mode central: each round draws its participants by chance, however few they are, and its epsilon would not hold if a round with fewer results than this were drawn again. Set fraction to 1 to have at least so many results";
  return [{ path: ["minResults"], message }];
}
