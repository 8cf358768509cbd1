import { CAPABILITY_TEXT, type Capability } from "./capabilities.ts";
import type { FederationSettings } from "./federation-settings.ts";
import { SUM_STRATEGIES, strategyNamed } from "./strategies/shared/registry.ts";

// What a federation's settings need of its participants and of their parameters. Privacy and strategies fail closed: what cannot be honored
// is refused with its reason, never left out.

type Asked = Pick<FederationSettings, "dp" | "secureAggregation" | "strategy">;

/** What every participant must be able to do. */
export function needsOf({ dp, secureAggregation, strategy }: Asked): Capability[] {
  return [
    ...(secureAggregation ? (["mask"] as const) : []),
    ...(dp?.mode === "local" ? (["clip", "noise"] as const) : []),
    // The coordinator sees the sum alone, so it cannot bound what is in it.
    ...(dp?.mode === "central" && secureAggregation ? (["clip"] as const) : []),
    ...strategyNamed(strategy.name).needs,
  ];
}

/** Why a participant that lacks these cannot take part. */
export function inabilityText(missing: readonly Capability[], { dp, strategy }: Asked): string {
  const causes: Readonly<Record<Capability, string>> = {
    clip: `dp.mode ${dp?.mode}`,
    noise: `dp.mode ${dp?.mode}`,
    mask: "secureAggregation",
    steps: `the strategy ${strategy.name}`,
  };
  const able = missing.map((capability) => CAPABILITY_TEXT[capability]).join(" and ");
  const needing = [...new Set(missing.map((capability) => causes[capability]))].join(" and ");
  return `cannot ${able}, as ${needing} needs; capabilities of its /v1/info must have ${missing.join(", ")}, as those of trainer nodes have`;
}

/** What central noise cannot go with, by path: only of a mean of bounded updates is it known how much noise hides one of them. */
export function privacyProblems({ dp, strategy }: Asked): { path: string[]; message: string }[] {
  if (dp?.mode !== "central" || SUM_STRATEGIES.includes(strategy.name)) return [];
  const message = `${strategy.name} cannot go with dp.mode central, whose noise is for a mean; use one of: ${SUM_STRATEGIES.join(", ")}`;
  return [{ path: ["strategy", "name"], message }];
}

/** What has to compute with the parameters here; undefined where a plain mean is all, which participants may make of what they alone can read. */
export function computingNeed({ dp, strategy }: Asked): string | undefined {
  if (dp) return `dp.mode ${dp.mode}`;
  return strategyNamed(strategy.name).formats === "any" ? undefined : `the strategy ${strategy.name}`;
}
