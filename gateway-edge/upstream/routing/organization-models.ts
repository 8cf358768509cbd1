import type { Target } from "./deployment-settings.ts";
import type { Principal } from "./principal.ts";

type Groups = ReadonlyMap<string, readonly Target[]>;

/** Whether a deployment is available to a principal's organization. */
export function mayAsk({ deployment }: Target, principal: Principal | undefined): boolean {
  const { organizationIds } = deployment;
  return organizationIds.length === 0 || (principal?.organizationId !== undefined && organizationIds.includes(principal.organizationId));
}

/** Groups that are not for all organizations, for each organization that may call them. */
interface ClosedGroups {
  /** Its own. */
  readonly own: ReadonlyMap<string, Groups>;
  /** Those that other organizations share with it. */
  readonly shared: ReadonlyMap<string, Groups>;
}

/**
 * Finds the groups that are not for all organizations. Two organizations may give the same name to their models and share them with a third: there
 * the name stands for the older one.
 */
export function closedGroups(targets: readonly Target[]): ClosedGroups {
  const [own, shared]: [GroupsToFill, GroupsToFill] = [new Map(), new Map()];
  for (const target of targets.filter(({ settings }) => settings.teamId === undefined)) {
    // The first is the organization that it belongs to.
    const [owner, ...others] = target.deployment.organizationIds;
    if (owner !== undefined) addTo(own, owner, target);
    for (const organizationId of others) addTo(shared, organizationId, target);
  }
  return { own, shared };
}

type GroupsToFill = Map<string, Map<string, Target[]>>;

function addTo(all: GroupsToFill, organizationId: string, target: Target): void {
  const { modelName, model } = target.deployment;
  const groups = all.get(organizationId) ?? new Map<string, Target[]>();
  all.set(organizationId, groups);
  const known = groups.get(modelName);
  if (!known) groups.set(modelName, [target]);
  else if (known[0]?.deployment.model?.id === model?.id) known.push(target);
}
