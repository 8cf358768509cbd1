import { modelsOf } from "../../common/model-data/model-data.ts";
import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import { mayUse } from "../inference/admit.ts";
import { type ModelDirectory, mayUseModel } from "../inference/model-access.ts";
import { fillStars, matchPattern } from "../routing/wildcard.ts";

/** Who looks at the models, and how much of them is shown. */
export interface Viewer {
  readonly caller: Caller;
  /** Deployments of this team are shown beside those for everybody. */
  readonly teamId: string;
  /** Everything, whatever the key's list says. */
  readonly expanded: boolean;
}

export function viewerOf(caller: Caller): Viewer {
  return { caller, teamId: caller.teamId, expanded: false };
}

export function mayView(viewer: Viewer, name: string, directory: ModelDirectory): boolean {
  if (viewer.expanded) return directory.groupOf(name, viewer) !== undefined;
  return mayUseModel(viewer.caller, name, directory, viewer);
}

/** Names of groups that a viewer may use, as they are configured: wildcards stay patterns, aliases count. */
export function visibleGroups(viewer: Viewer, directory: ModelDirectory): string[] {
  const configured = directory.names(viewer).filter((name) => mayView(viewer, name, directory));
  return [...new Set([...configured, ...namedByKey(viewer.caller, directory)])];
}

/** Names of models that a viewer may use: a wildcard is shown as the models that are known of its provider. */
export function visibleModels(viewer: Viewer, directory: ModelDirectory, { withWildcards }: { withWildcards: boolean }): string[] {
  const names = directory.names(viewer).flatMap((name) => {
    if (!name.includes("*")) return [name];
    return withWildcards ? [name, ...expandWildcard(name, viewer, directory)] : expandWildcard(name, viewer, directory);
  });
  const visible = names.filter((name) => mayView(viewer, name, directory));
  return [...new Set([...visible, ...namedByKey(viewer.caller, directory)])];
}

/** Access groups that a viewer has: named by its key, or with a model in it that it may use. */
export function visibleAccessGroups(viewer: Viewer, directory: ModelDirectory): string[] {
  const shown = [...directory.accessGroups()].filter(
    ([group, members]) => viewer.expanded || mayUse(viewer.caller, group) || [...members].some((name) => mayView(viewer, name, directory)),
  );
  return shown.map(([group]) => group).sort();
}

/** A key may list names under a wildcard that no price list knows yet. */
function namedByKey(caller: Caller, directory: ModelDirectory): string[] {
  return (caller.models?.names ?? []).filter((name) => !name.includes("*") && directory.groupOf(name, caller)?.name === name);
}

function expandWildcard(pattern: string, viewer: Viewer, directory: ModelDirectory): string[] {
  return directory.candidates(pattern, viewer).flatMap(({ providerKind, inferenceModelId }) =>
    modelsOf(providerKind).flatMap((name) => {
      const captures = inferenceModelId.includes("*") ? matchPattern(inferenceModelId, name) : undefined;
      return captures ? [fillStars(pattern, { name, captures })] : [];
    }),
  );
}
