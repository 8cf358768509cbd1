import { strategyNamed } from "../strategies/shared/registry.ts";
import { CAPABILITY_TEXT, type Capability, READABLE_FORMATS } from "./capabilities.ts";
import type { FederationSettings } from "./federation-settings.ts";
import { privacyRules } from "./privacy-rules.ts";

// What a federation's settings need of its participants and of their parameters. Privacy and strategies fail closed: what cannot be honored
// is refused with its reason, never left out.

type Asked = Pick<FederationSettings, "dp" | "secureAggregation" | "strategy"> & Partial<Pick<FederationSettings, "compression" | "task">>;

/** The setting, as messages name it. */
const COMPRESSION = "compression";

/** What every participant must be able to do. */
export function needsOf(asked: Asked): Capability[] {
  const formats: Capability[] = computingNeed(asked) === undefined ? [] : ["formats"];
  const privacy = Object.keys(privacyRules(asked).needs) as Capability[];
  const sizes: Capability[] = asked.compression ? ["compress"] : [];
  return [...new Set([...privacy, ...strategyNeeds(asked), ...sizes, ...formats])];
}

function strategyNeeds({ strategy, task }: Asked): readonly Capability[] {
  const { needs, isNeeded } = strategyNamed(strategy.name);
  return (isNeeded?.(strategy, task?.config ?? {}) ?? true) ? needs : [];
}

/** Why a participant with these capabilities cannot take part; undefined if it can. */
export function inabilityOf(able: ReadonlySet<Capability>, asked: Asked): string | undefined {
  const missing = needsOf(asked).filter((need) => !able.has(need));
  return missing.length === 0 ? undefined : inabilityText(missing, asked);
}

/** Why a participant that lacks these cannot take part. */
export function inabilityText(missing: readonly Capability[], asked: Asked): string {
  const { needs } = privacyRules(asked);
  const able = missing.map((capability) => CAPABILITY_TEXT[capability]).join(" and ");
  const strategy = `the strategy ${asked.strategy.name}`;
  const otherNeeds: Partial<Record<Capability, string | undefined>> = { formats: computingNeed(asked), compress: COMPRESSION };
  const needFor = (capability: Capability) => needs[capability] ?? otherNeeds[capability] ?? strategy;
  const needing = [...new Set(missing.map(needFor))].join(" and ");
  const declared = missing.map((capability) =>
    capability === "formats" ? `one of ${READABLE_FORMATS.join(", ")} in formats` : capability,
  );
  return `cannot ${able}, as ${needing} needs; capabilities of its /v1/info must have ${declared.join(", ")}, as those of trainer nodes have`;
}

/** What has to compute with the parameters here; undefined where a plain mean is all, which participants may make of opaque parameters. */
export function computingNeed(asked: Asked): string | undefined {
  const { name, formats } = strategyNamed(asked.strategy.name);
  const computes = privacyRules(asked).computes ?? (asked.compression ? COMPRESSION : undefined);
  return computes ?? (formats === "any" ? undefined : `the strategy ${name}`);
}
