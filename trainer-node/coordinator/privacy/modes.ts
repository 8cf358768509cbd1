import type { FederationSettings } from "../../../common/federation-settings.ts";
import { central } from "./central.ts";
import { plain } from "./plain.ts";
import type { PrivacyMode } from "./privacy-mode.ts";
import { secure } from "./secure.ts";

/** Under `none` and `local` a coordinator does the same: local noise is the participants' work. */
const NOISE = { none: plain, local: plain, central };

export function privacyMode({ dp, secureAggregation }: Pick<FederationSettings, "dp" | "secureAggregation">): PrivacyMode {
  const noise = NOISE[dp?.mode ?? "none"];
  return secureAggregation ? secure(noise) : noise;
}
