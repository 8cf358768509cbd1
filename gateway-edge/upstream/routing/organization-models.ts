import type { Target } from "./deployment-settings.ts";
import type { Principal } from "./principal.ts";

type Groups = ReadonlyMap<string, readonly Target[]>;

/** Whether a principal's organisation is one of those that a deployment is for. */
export function mayAsk({ deployment }: Target, principal: Principal | undefined): boolean {
  const { organizationIds } = deployment;
  return organizationIds.length === 0 || (principal?.organizationId !== undefined && organizationIds.includes(principal.organizationId));
}

/**
 * For each organisation the groups that are not for everybody. Two organisations may give the same name to models of theirs and show them to
 * a third: a name then stands for the principal's own model, else for the one that was there first.
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
