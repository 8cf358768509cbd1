import { matchPattern } from "../../../../common/match-pattern.ts";
import { modelsOf } from "../../../../common/model-data/model-data.ts";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { type ModelDirectory, mayUseModel } from "../../../calls/inference/model-access.ts";
import { isListed, type Principal } from "../../../upstream/routing/principal.ts";
import { fillStars } from "../../../upstream/routing/wildcard.ts";

/** The principal that lists models: it sees public deployments and those of its team, as far as its model lists allow. */
export type Viewer = Principal;

export function viewerOf({ teamId, organizationId, models, teamModels }: Caller): Viewer {
  return { teamId, organizationId, models, teamModels };
}

export function mayView(viewer: Viewer, name: string, directory: ModelDirectory): boolean {
  return mayUseModel(viewer, name, directory);
}

/** Whether a group is listed under this name. Hidden aliases and deployment ids are not listed, though they can be called. */
export function isShown(viewer: Viewer, name: string, directory: ModelDirectory): boolean {
  if (!mayView(viewer, name, directory)) return false;
  const group = directory.groupOf(name, viewer);
  return visibleGroups(viewer, directory).includes(name) || (group?.name === name && group.configuredName.includes("*"));
}

/** Names of the groups that a viewer may use, as configured: wildcards stay patterns, aliases are included. */
export function visibleGroups(viewer: Viewer, directory: ModelDirectory): string[] {
  const configured = directory.names(viewer).filter((name) => mayView(viewer, name, directory));
  return [...new Set([...configured, ...listedNames(viewer, directory)])];
}

/** Names of the models that a viewer may use. A wildcard is expanded to the known models of its provider. */
export function visibleModels(viewer: Viewer, directory: ModelDirectory, { withWildcards }: { withWildcards: boolean }): string[] {
  const names = directory.names(viewer).flatMap((name) => {
    if (!name.includes("*")) return [name];
    return withWildcards ? [name, ...expandWildcard(name, viewer, directory)] : expandWildcard(name, viewer, directory);
  });
  const visible = names.filter((name) => mayView(viewer, name, directory));
  return [...new Set([...visible, ...listedNames(viewer, directory)])];
}

/** The access groups of a viewer: those in its lists, or all if it has no list, without groups that have no model for it. */
export function visibleAccessGroups(viewer: Viewer, directory: ModelDirectory): string[] {
  const shown = [...directory.accessGroups()].filter(
    ([group, members]) => isListed(viewer, group) && [...members].some((name) => mayView(viewer, name, directory)),
  );
  return shown.map(([group]) => group).sort();
}

/** A list may name models under a wildcard that no price list has yet. */
function listedNames(viewer: Viewer, directory: ModelDirectory): string[] {
  const names = [...(viewer.models?.names ?? []), ...(viewer.teamModels?.names ?? [])];
  return names.filter((name) => !name.includes("*") && directory.groupOf(name, viewer)?.name === name && mayView(viewer, name, directory));
}

/** Ignores the viewer's lists, because they may contain names under the pattern and not the pattern itself. */
function expandWildcard(pattern: string, { teamId, organizationId }: Viewer, directory: ModelDirectory): string[] {
  return directory.candidates(pattern, { teamId, organizationId }).flatMap(({ providerKind, inferenceModelId }) =>
    modelsOf(providerKind).flatMap((name) => {
      const captures = inferenceModelId.includes("*") ? matchPattern(inferenceModelId, name) : undefined;
      return captures ? [fillStars(pattern, { name, captures })] : [];
    }),
  );
}
