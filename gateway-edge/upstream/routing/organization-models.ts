import type { Target } from "./deployment-settings.ts";
import type { Principal } from "./principal.ts";

type Groups = ReadonlyMap<string, readonly Target[]>;

/** Whether a deployment is available to a principal's organization. */
export function mayAsk({ deployment }: Target, principal: Principal | undefined): boolean {
  const { organizationIds } = deployment;
  return organizationIds.length === 0 || (principal?.organizationId !== undefined && organizationIds.includes(principal.organizationId));
}

/**
 * For each organization the groups that are not for all organizations. Two organizations may give the same name to their models and share them with
 * a third: a name then stands for the principal's own model, otherwise for the older one.
 */
export function ownGroups(targets: readonly Target[]): ReadonlyMap<string, Groups> {
  const all = new Map<string, Map<string, Target[]>>();
  const closed = targets.filter(({ deployment, settings }) => deployment.organizationIds.length > 0 && settings.teamId === undefined);
  for (const organizationId of new Set(closed.flatMap(({ deployment }) => deployment.organizationIds))) {
    const groups = new Map<string, Target[]>();
    const isOwn = ({ deployment }: Target) => deployment.organizationIds[0] === organizationId;
    const visible = closed.filter((target) => mayAsk(target, { organizationId }));
    for (const target of [...visible.filter(isOwn), ...visible.filter((each) => !isOwn(each))]) {
      const known = groups.get(target.deployment.modelName);
      if (!known) groups.set(target.deployment.modelName, [target]);
      else if (known[0]?.deployment.model?.id === target.deployment.model?.id) known.push(target);
    }
    all.set(organizationId, groups);
  }
  return all;
}
