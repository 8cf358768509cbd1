import { matchPattern } from "../../../common/match-pattern.ts";
import type { Target } from "./deployment-settings.ts";

/**
 * The principal of a call, as far as routing needs it: deployments of a team or of organizations are only for those, and model lists
 * restrict those who have one.
 */
export interface Principal {
  readonly teamId?: string | undefined;
  readonly organizationId?: string | undefined;
  /** What its key may use: names, patterns with `*`, access groups. Absent: everything. */
  readonly models?: ModelList | undefined;
  /** What its team may use; both lists apply. */
  readonly teamModels?: ModelList | undefined;
}

interface ModelList {
  readonly names: readonly string[];
}

/** LiteLLM's names for a list without restrictions; the other list still applies. */
const EVERYTHING: ReadonlySet<string> = new Set(["*", "all-proxy-models", "all-team-models"]);

export function isBound(principal: Principal | undefined): principal is Principal {
  return principal?.models !== undefined || principal?.teamModels !== undefined;
}

/** Whether names mean the same for both. Lists are the same objects until they change. */
export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return (
    one.teamId === other.teamId &&
    one.organizationId === other.organizationId &&
    one.models === other.models &&
    one.teamModels === other.teamModels
  );
}

/**
 * The deployments of a group that every list of the principal allows: all of them where a list has the group by one of its names, otherwise
 * those in an access group that it lists.
 */
export function usableTargets(
  targets: readonly Target[],
  { names, principal }: { names: readonly string[]; principal: Principal },
): readonly Target[] {
  return [principal.models, principal.teamModels].reduce((left, list) => (list ? allowedBy(list, names, left) : left), targets);
}

/** Whether every list of a principal has this name; a principal without lists may see everything. */
export function isListed({ models, teamModels }: Principal, name: string): boolean {
  return [models, teamModels].every((list) => list === undefined || list.names.some((each) => covers(each, name)));
}

function allowedBy(list: ModelList, names: readonly string[], targets: readonly Target[]): readonly Target[] {
  if (list.names.some((each) => names.some((name) => covers(each, name)))) return targets;
  const known = byAccessGroup.get(targets)?.get(list);
  if (known) return known;
  const found = targets.filter(({ settings }) => settings.accessGroups.some((group) => list.names.includes(group)));
  byAccessGroup.set(targets, (byAccessGroup.get(targets) ?? new WeakMap<ModelList, readonly Target[]>()).set(list, found));
  return found;
}

/** A key calls again and again: its list is the same object until it changes, and so is the list of targets. */
const byAccessGroup = new WeakMap<readonly Target[], WeakMap<ModelList, readonly Target[]>>();

function covers(listed: string, name: string): boolean {
  return listed === name || EVERYTHING.has(listed) || (listed.includes("*") && matchPattern(listed, name) !== undefined);
}
