import type { PriceUnit } from "../../../common/pricing.ts";
import { disjointUsage, NO_USAGE, type Usage } from "../../credit/pricing/usage.ts";
import type { ReportedUsage } from "../../upstream/providers/provider.ts";
import type { Estimate } from "./job.ts";

/** The provider's word where it gave one, our own count for the rest; the source is that of the unit which is paid. */
export function measured(known: { estimate: Estimate | undefined; reported: ReportedUsage | undefined; unit: PriceUnit }): Usage {
  const { estimate, reported, unit } = known;
  const tokens = saysTokens(reported)
    ? disjointUsage(reported)
    : { ...NO_USAGE, input: estimate?.input ?? 0, output: estimate?.output ?? 0 };
  const isSaid = unit === "token" || unit === "call" ? saysTokens(reported) : reported?.amounts?.[unit] !== undefined;
  return { ...tokens, amounts: { ...estimate?.amounts, ...reported?.amounts }, source: isSaid ? "provider" : "estimated" };
}

/** Whether the provider gave a count of tokens. */
export function saysTokens(reported: ReportedUsage | undefined): reported is ReportedUsage {
  return reported !== undefined && reported.promptTokens + reported.completionTokens > 0;
}
