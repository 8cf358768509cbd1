import { strategyNamed } from "../strategies/shared/registry.ts";
import type { Capability } from "./capabilities.ts";
import { isOpen } from "./enrollment-settings.ts";
import { inabilityOf } from "./federation-needs.ts";
import { type FederationSettings, isAsynchronous } from "./federation-settings.ts";

/**
 * What a federation does as a participant of another one. It neither clips, masks nor adds noise to what it returns on the outer federation's
 * terms, so it declares none of that: its own privacy is that of its own participants.
 */
export const INNER_CAPABILITIES: ReadonlySet<Capability> = new Set(["formats"]);

/** Why a federation with the settings `inner` cannot be a participant of one with the settings `outer`; undefined if it can. */
export function innerProblem(outer: FederationSettings, inner: FederationSettings): string | undefined {
  const { name } = outer.strategy;
  // Settings of the participants' training have a reason of their own, below.
  const unable = inabilityOf(new Set([...INNER_CAPABILITIES, "proximal"]), outer);
  if (unable !== undefined) return `${unable}; a federation has only formats`;
  if (isAsynchronous(outer)) return `cannot take part with the asynchronous strategy ${name}, whose rounds do not wait for it`;
  if (strategyNamed(name).prepare)
    return `does not get the settings of the strategy ${name}; set it as the strategy of this federation instead`;
  if (isAsynchronous(inner) || strategyNamed(inner.strategy.name).needs.includes("controls"))
    return `has the strategy ${inner.strategy.name}, which cannot begin with parameters of another federation`;
  if (isOpen(inner)) return "has open enrollment; its participants must be listed";
  return undefined;
}
