import { strategyNamed } from "../strategies/shared/registry.ts";
import { CAPABILITY_TEXT, type Capability } from "./capabilities.ts";
import type { FederationSettings } from "./federation-settings.ts";
import { privacyRules } from "./privacy-rules.ts";

// What a federation's settings need of its participants and of their parameters. Privacy and strategies fail closed: what cannot be honored
// is refused with its reason, never left out.

type Asked = Pick<FederationSettings, "dp" | "secureAggregation" | "strategy">;

/** What every participant must be able to do. */
export function needsOf(asked: Asked): Capability[] {
  return [...new Set([...(Object.keys(privacyRules(asked).needs) as Capability[]), ...strategyNamed(asked.strategy.name).needs])];
}

/** Why a participant that lacks these cannot take part. */
export function inabilityText(missing: readonly Capability[], asked: Asked): string {
  const { needs } = privacyRules(asked);
  const able = missing.map((capability) => CAPABILITY_TEXT[capability]).join(" and ");
  const needing = [...new Set(missing.map((capability) => needs[capability] ?? `the strategy ${asked.strategy.name}`))].join(" and ");
  return `cannot ${able}, as ${needing} needs; capabilities of its /v1/info must have ${missing.join(", ")}, as those of trainer nodes have`;
}

/** What has to compute with the parameters here; undefined where a plain mean is all, which participants may make of opaque parameters. */
export function computingNeed(asked: Asked): string | undefined {
  const { name, formats } = strategyNamed(asked.strategy.name);
  return privacyRules(asked).computes ?? (formats === "any" ? undefined : `the strategy ${name}`);
}
