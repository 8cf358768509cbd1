import type { Clock } from "../../../common/clock.ts";
import type { Random } from "../../../common/random.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { createAffinity } from "./affinity.ts";
import type { Target } from "./deployment-settings.ts";
import { type FallbackType, fallbacksFor } from "./fallback-plan.ts";
import { createHealth, type DeploymentHealth } from "./health.ts";
import { isolatedContext } from "./isolated-run.ts";
import { compileModelNames, distinct, type ModelGroup } from "./model-names.ts";
import type { Principal } from "./principal.ts";
import { createRetryBudget, type RetryBudget } from "./retry-budget.ts";
import type { OnFailed, RouteCall, RouteRun } from "./route-call.ts";

import { RunningRoute } from "./route-run.ts";
import { compileSettings, type RouterSettings } from "./settings.ts";

export type { Attempt, RouteCall, RouteRun } from "./route-call.ts";

/** Which deployment serves a call, and what is tried when it fails. In memory, for this edge; uses no network. */
export interface Router {
  /** Replaces the whole table at once. Running calls finish with the table they started with; health stays for deployments that still exist. */
  update(deployments: readonly Deployment[], settingsJson: string): void;
  start(call: RouteCall): RouteRun;
  /** All deployments that may serve a name for this principal, without fallbacks; empty when the model does not exist, or not for it. */
  candidates(model: string, principal?: Principal): readonly Deployment[];
  /** The group that a name (a deployment's id, an alias, a name under a wildcard) stands for, whether the principal may use it or not. */
  groupOf(model: string, principal?: Principal): Pick<ModelGroup, "name" | "configuredName"> | undefined;
  /** Names to list: groups, wildcard patterns (with their `*`), aliases that are not hidden. */
  names(principal?: Principal): readonly string[];
  fallbacksOf(model: string, type: FallbackType, principal?: Principal): readonly string[];
  /** Access group → names of groups with a deployment in it. */
  accessGroups(): ReadonlyMap<string, ReadonlySet<string>>;
  /** All callable deployments, as configured. */
  targets(): readonly Target[];
  stateOf(deploymentId: string): DeploymentHealth | undefined;
  /** Whether any deployment takes parameters of its provider from clients. */
  takesClientParams(): boolean;
  /** As compiled from the last catalog view. */
  settings(): RouterSettings;
}

const AFFINITIES_MAX = 50_000;
const NO_TARGETS: readonly Target[] = [];
const deployments = new WeakMap<readonly Target[], readonly Deployment[]>();

/** Every call needs it several times; the targets of a group are the same list until the next table. */
function deploymentsOf(targets: readonly Target[]): readonly Deployment[] {
  const known = deployments.get(targets);
  if (known) return known;
  const found = targets.map(({ deployment }) => deployment);
  deployments.set(targets, found);
  return found;
}

export function createRouter({ clock, random, onFailed }: { clock: Clock; random: Random; onFailed?: OnFailed }): Router {
  const health = createHealth(clock);
  const affinity = createAffinity(clock, AFFINITIES_MAX);
  let settings = compileSettings("{}");
  let names = compileModelNames([], settings.aliases);
  let budgets = new Map<string, RetryBudget>();
  let takesClientParams = false;

  /** One per configured group, so that a failing group does not use up the retries of another. */
  function budgetOf(configuredName: string): RetryBudget {
    const known = budgets.get(configuredName);
    if (known) return known;
    const budget = createRetryBudget(clock, settings.retryBudget);
    budgets.set(configuredName, budget);
    return budget;
  }

  return {
    update(deployments, settingsJson) {
      const before = settings.retryBudget;
      settings = compileSettings(settingsJson);
      names = compileModelNames(deployments, settings.aliases);
      health.keep(names.targets, settings.latencyTauMs);
      takesClientParams = names.targets.some(({ settings: own }) => own.takesClientParams);
      const listed = new Set(names.targets.map(({ deployment, settings: own }) => own.teamModelName ?? deployment.modelName));
      const isSame = JSON.stringify(before) === JSON.stringify(settings.retryBudget);
      budgets = isSame ? new Map([...budgets].filter(([name]) => listed.has(name))) : new Map();
    },
    start(call) {
      const context = { clock, random, health, affinity, settings, names, budgetOf, onFailed };
      return new RunningRoute(call.isolation ? isolatedContext(context, call.isolation) : context, call);
    },
    candidates: (model, principal) => deploymentsOf(names.resolve(model, principal)?.targets ?? NO_TARGETS),
    groupOf: (model, principal) => names.resolve(model, principal),
    names: (principal) => names.list(principal),
    fallbacksOf(model, type, principal) {
      const group = names.resolve(model, principal);
      return group ? fallbacksFor(type, distinct(model, group), settings) : [];
    },
    accessGroups: () => names.accessGroups,
    targets: () => names.targets,
    stateOf: (deploymentId) => health.stateOf(deploymentId),
    takesClientParams: () => takesClientParams,
    settings: () => settings,
  };
}
