import { matchPattern } from "../../../common/match-pattern.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { compileTarget, type Target } from "./deployment-settings.ts";
import { closedGroups, mayAsk } from "./organization-models.ts";
import { isBound, isSamePrincipal, type Principal, usableTargets } from "./principal.ts";
import type { Alias } from "./settings.ts";
import { comparePatterns, fillStars } from "./wildcard.ts";

/** What a name stands for: one group, and the deployments that serve it. */
export interface ModelGroup {
  /** The requested name, with an alias resolved; for a wildcard the concrete name. */
  readonly name: string;
  /** The group's name in the configuration: for a wildcard the pattern. Their number is limited by the configuration. */
  readonly configuredName: string;
  readonly targets: readonly Target[];
}

export interface ModelNames {
  /**
   * Deployment id, alias, the team's own group, the organization's own group, group, wildcard (longest first), a group that another organization
   * shares: the first that fits. Its targets are those that the principal may use; empty: the model exists, but not for this principal.
   */
  resolve(name: string, principal?: Principal): ModelGroup | undefined;
  /** Names to list: groups and wildcard patterns, then aliases that are not hidden; no duplicates. */
  list(principal?: Principal): readonly string[];
  /** Access group → the names of groups with a deployment in it. */
  readonly accessGroups: ReadonlyMap<string, ReadonlySet<string>>;
  readonly targets: readonly Target[];
}

const DERIVED_TARGETS_MAX = 20_000;

export function compileModelNames(deployments: readonly Deployment[], aliases: ReadonlyMap<string, Alias>): ModelNames {
  const targets = deployments.filter(({ model }) => model?.status === "active").map(compileTarget);
  const byId = new Map(targets.map((target) => [target.deployment.id, target]));
  const open = groupBy(
    targets.filter(({ settings, deployment }) => settings.teamId === undefined && deployment.organizationIds.length === 0),
  );
  const closed = closedGroups(targets);
  const ofTeams = groupsByTeam(targets);
  const openGroups = new Map([...open].map(([name, group]) => [name, { name, configuredName: name, targets: group }]));
  const patterns = [...open.keys()].filter((name) => name.includes("*")).sort(comparePatterns);

  const groupsOfOne = new WeakMap<Target, ModelGroup>();
  const derived = new Map<string, ModelGroup>();
  let derivedTargets = 0;

  function byExactId(id: string, principal: Principal | undefined): ModelGroup | undefined {
    const target = byId.get(id);
    if (!target || (target.settings.teamId !== undefined && target.settings.teamId !== principal?.teamId)) return undefined;
    if (!mayAsk(target, principal)) return undefined;
    const known = groupsOfOne.get(target);
    if (known) return known;
    const name = publicName(target);
    const group = { name, configuredName: name, targets: [target] };
    groupsOfOne.set(target, group);
    return group;
  }

  function byName(name: string, principal: Principal | undefined): ModelGroup | undefined {
    const { teamId = "", organizationId = "" } = principal ?? {};
    const exact = ofTeams.get(teamId)?.get(name) ?? closed.own.get(organizationId)?.get(name);
    if (exact) return { name, configuredName: name, targets: exact };
    // Calls request the same names again and again, so the result is cached.
    const offered = openGroups.get(name) ?? byPattern(name);
    if (offered) return offered;
    // Another organization chooses the name and the price of what it shares, so it never takes a name that the operator offers.
    const shared = closed.shared.get(organizationId)?.get(name);
    return shared && { name, configuredName: name, targets: shared };
  }

  function byPattern(name: string): ModelGroup | undefined {
    const known = derived.get(name);
    if (known) return known;
    for (const pattern of patterns) {
      const captures = matchPattern(pattern, name);
      if (captures) {
        const group = { name, configuredName: pattern, targets: (open.get(pattern) ?? []).map((target) => derive(target, name, captures)) };
        return remembered(group);
      }
    }
    return undefined;
  }

  /** Callers choose the names under a wildcard, so the cache has a limit. */
  function remembered(group: ModelGroup): ModelGroup {
    if (derivedTargets + group.targets.length > DERIVED_TARGETS_MAX) {
      derived.clear();
      derivedTargets = 0;
    }
    derivedTargets += group.targets.length;
    derived.set(group.name, group);
    return group;
  }

  function resolved(name: string, principal: Principal | undefined): ModelGroup | undefined {
    const group = byExactId(name, principal) ?? byName(aliases.get(name)?.model ?? name, principal);
    if (!group || !isBound(principal)) return group;
    return { ...group, targets: usableTargets(group.targets, { names: [name, group.name], principal }) };
  }

  return {
    resolve: rememberLast(resolved),
    list(principal) {
      const { teamId = "", organizationId = "" } = principal ?? {};
      const own = [...(ofTeams.get(teamId)?.keys() ?? []), ...(closed.own.get(organizationId)?.keys() ?? [])];
      const shared = closed.shared.get(organizationId)?.keys() ?? [];
      const shown = [...aliases].filter(([, { hidden, model }]) => !hidden && byName(model, principal) !== undefined);
      return [...new Set([...own, ...open.keys(), ...shared, ...shown.map(([name]) => name)])];
    },
    accessGroups: groupsByAccess(targets),
    targets,
  };
}

type Resolve = ModelNames["resolve"];

/** A call resolves its model several times in a row, and most calls follow one of the same key. */
function rememberLast(resolve: Resolve): Resolve {
  let last: { readonly name: string; readonly principal: Principal; readonly group: ModelGroup | undefined } | undefined;
  return (name, principal = NO_PRINCIPAL) => {
    if (last?.name === name && isSamePrincipal(last.principal, principal)) return last.group;
    const { teamId, organizationId, models, teamModels } = principal;
    // Without the call that asks, which would stay in memory.
    last = { name, principal: { teamId, organizationId, models, teamModels }, group: resolve(name, principal) };
    return last.group;
  };
}

const NO_PRINCIPAL: Principal = {};

/** A name and what it stands for, without duplicates. */
export function distinct(model: string, { name, configuredName }: Pick<ModelGroup, "name" | "configuredName">): readonly string[] {
  if (model === name && name === configuredName) return [name];
  return [...new Set([model, name, configuredName])];
}

function publicName({ deployment, settings }: Target): string {
  return settings.teamModelName ?? deployment.modelName;
}

function groupBy(targets: readonly Target[]): Map<string, readonly Target[]> {
  const groups = new Map<string, Target[]>();
  for (const target of targets) {
    const name = publicName(target);
    const group = groups.get(name);
    if (group) group.push(target);
    else groups.set(name, [target]);
  }
  return groups;
}

function groupsByTeam(targets: readonly Target[]): Map<string, ReadonlyMap<string, readonly Target[]>> {
  const teamIds = new Set(targets.map(({ settings }) => settings.teamId).filter((teamId) => teamId !== undefined));
  return new Map([...teamIds].map((teamId) => [teamId, groupBy(targets.filter(({ settings }) => settings.teamId === teamId))]));
}

function groupsByAccess(targets: readonly Target[]): Map<string, ReadonlySet<string>> {
  const groups = new Map<string, Set<string>>();
  for (const target of targets) {
    for (const accessGroup of target.settings.accessGroups) {
      const names = groups.get(accessGroup) ?? new Set();
      groups.set(accessGroup, names.add(publicName(target)));
    }
  }
  return groups;
}

/** The wildcard's deployment for one name. It has the same id: counts, cool-downs and logs belong to the configured deployment. */
function derive({ deployment, settings }: Target, name: string, captures: readonly string[]): Target {
  const inferenceModelId = fillStars(deployment.inferenceModelId, { name, captures });
  return { deployment: { ...deployment, modelName: name, inferenceModelId }, settings, derived: true };
}
