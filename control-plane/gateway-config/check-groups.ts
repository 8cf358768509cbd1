import type { ConfiguredDeployment } from "./gateway-config.ts";
import type { ConfigIssues, Located, LocatedMap } from "./located.ts";
import { aliasTarget, fallbackGroups, type NamedGroup, namesIn } from "./value-types.ts";

const FALLBACKS = ["fallbacks", "context_window_fallbacks", "content_policy_fallbacks"];
const ALIASES = [
  ["router_settings", "model_group_alias"],
  ["litellm_settings", "model_alias_map"],
] as const;

/** Every target of a fallback or alias must exist: in the file, or by name in the catalog of the store. */
export function checkGroups(
  root: LocatedMap,
  known: { deployments: readonly ConfiguredDeployment[]; catalogNames: readonly string[] },
  issues: ConfigIssues,
): void {
  const aliases = ALIASES.flatMap(([section, name]) => aliasesIn(setting(root, section, name)));
  const groups = new Set([
    ...known.catalogNames,
    ...known.deployments.flatMap(({ modelName, id }) => [modelName, id]),
    ...aliases.map(({ alias }) => alias),
  ]);
  const patterns = [...groups].filter((name) => name.includes("*")).map(toPattern);
  const exists = ({ name }: NamedGroup) => groups.has(name) || patterns.some((pattern) => pattern.test(name));
  for (const { alias, target } of aliases) {
    if (!exists(target)) issues.problem(target.at, `the alias "${alias}" leads to the model "${target.name}", which does not exist`);
  }
  for (const section of ["router_settings", "litellm_settings"]) checkFallbacks(root, section, exists, issues);
}

function checkFallbacks(root: LocatedMap, section: string, exists: (group: NamedGroup) => boolean, issues: ConfigIssues): void {
  for (const name of FALLBACKS) {
    const { from, to } = fallbackGroups(setting(root, section, name) ?? NOTHING);
    for (const group of to.filter((group) => !exists(group))) missing(`${section}.${name}`, group, issues);
    for (const group of from.filter((group) => group.name !== "*" && !exists(group))) {
      issues.warn(group.at, `${section}.${name}: there is no model "${group.name}" that could fall back`);
    }
  }
  const defaults = namesIn(setting(root, section, "default_fallbacks") ?? NOTHING);
  for (const group of defaults.filter((group) => !exists(group))) missing(`${section}.default_fallbacks`, group, issues);
}

const NOTHING: Located = { kind: "list", at: { file: "", line: 0 }, items: [] };

function missing(where: string, group: NamedGroup, issues: ConfigIssues): void {
  issues.problem(group.at, `${where} leads to the model "${group.name}", which does not exist`);
}

function setting(root: LocatedMap, section: string, name: string): Located | undefined {
  const map = root.entries.get(section)?.node;
  return map?.kind === "map" ? map.entries.get(name)?.node : undefined;
}

function aliasesIn(node: Located | undefined): { alias: string; target: NamedGroup }[] {
  if (node?.kind !== "map") return [];
  return [...node.entries].flatMap(([alias, entry]) => {
    const target = aliasTarget(entry.node);
    return target ? [{ alias, target }] : [];
  });
}

function toPattern(name: string): RegExp {
  return new RegExp(
    `^${name
      .split("*")
      .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
      .join(".*")}$`,
  );
}
