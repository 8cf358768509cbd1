import { strategyNamed } from "../strategies/shared/registry.ts";
import { isOpen } from "./enrollment-settings.ts";
import type { FederationSettings } from "./federation-settings.ts";

type Asked = Pick<FederationSettings, "dp" | "secureAggregation" | "strategy" | "fraction" | "overSelect" | "enrollment">;

/**
 * The probability with which a participant is sampled for a round, if the sampling is part of the federation's privacy: noise on a sum, of which
 * each participant is a part or not, independently of the others. With `overSelect` the first answers count, so it would depend on them. In
 * an open federation anybody sees who comes and goes, and how many there are changes, so that its sampling counts for nothing.
 */
export function sampledShare(asked: Asked): number | undefined {
  const { dp, secureAggregation, strategy, fraction, overSelect } = asked;
  if (isOpen(asked)) return undefined;
  const isSum = strategyNamed(strategy.name).sees === "sum";
  return dp?.mode === "central" && !secureAggregation && isSum && overSelect === 0 && fraction < 1 ? fraction : undefined;
}
