import type { FederationSettings } from "../../../common/training/federation-settings.ts";
import { central } from "./central.ts";
import { plain } from "./plain.ts";
import type { PrivacyMode } from "./privacy-mode.ts";
import { secure } from "./secure.ts";

/** Under `none` and `local` a coordinator does the same, because participants add local noise. */
const NOISE = { none: plain, local: plain, central };

/** The privacy mode of a federation. */
export function privacyMode({ dp, secureAggregation }: Pick<FederationSettings, "dp" | "secureAggregation">): PrivacyMode {
  const noise = NOISE[dp?.mode ?? "none"];
  return secureAggregation ? secure(noise) : noise;
}
