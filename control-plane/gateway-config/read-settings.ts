import type { GatewaySettings } from "./gateway-config.ts";
import { NOT_SUPPORTED, ROUTING_STRATEGIES, type SectionName, SUPPORTED } from "./known-settings.ts";
import type { ConfigIssues, Located, LocatedEntry, LocatedMap } from "./located.ts";
import { CACHE_PARAMS, readCacheParams } from "./read-cache-params.ts";
import { readGuardrails } from "./read-guardrails.ts";
import { checkType, coerce, type ValueType } from "./value-types.ts";

type Resolve = (node: Located, where: string) => unknown;

const MASTER_KEY = /^sk-[\x21-\x7e]{13,253}$/;

/** The settings sections of a configuration. */
export interface ReadSettings {
  settings: GatewaySettings;
  masterKey?: string;
}

/**
 * Reads the three settings sections. An unsupported setting is a warning, and its `os.environ/` references are not resolved: an unset
 * DATABASE_URL that has no effect must not prevent the start.
 */
export function readSettings(root: LocatedMap, resolve: Resolve, issues: ConfigIssues): ReadSettings {
  const read = (section: SectionName) => readSection(root, section, resolve, issues);
  const { master_key: masterKey, ...general } = read("general_settings");
  const litellm = { ...read("litellm_settings"), ...readCacheParams(root, resolve, issues) };
  const guardrails = readGuardrails(root.entries.get("guardrails")?.node, resolve, issues);
  const settings = {
    router_settings: read("router_settings"),
    litellm_settings: litellm,
    general_settings: general,
    ...(guardrails.length > 0 ? { guardrails } : {}),
  };
  checkStrategy(root, issues);
  const given = typeof masterKey === "string" ? masterKey : undefined;
  if (given === undefined) return { settings };
  const at = root.entries.get("general_settings")?.node.at ?? root.at;
  if (!MASTER_KEY.test(given)) {
    issues.problem(
      keyOf(root, "general_settings", "master_key") ?? at,
      'general_settings.master_key must begin with "sk-" and have 16 or more characters',
    );
  }
  return { settings, masterKey: given };
}

function readSection(root: LocatedMap, section: SectionName, resolve: Resolve, issues: ConfigIssues): Record<string, unknown> {
  const map = sectionMap(root, section, issues);
  const read: Record<string, unknown> = {};
  for (const [name, entry] of map?.entries ?? []) {
    const type = Object.hasOwn(SUPPORTED[section], name) ? SUPPORTED[section][name] : undefined;
    if (section === "litellm_settings" && name === CACHE_PARAMS) continue;
    if (type === undefined) warnOf(section, name, entry, issues);
    else if (!isNull(entry.node)) readOne({ section, name, type, node: entry.node }, resolve, issues, read);
  }
  return read;
}

interface SettingNode {
  section: SectionName;
  name: string;
  type: ValueType;
  node: Located;
}

function readOne({ section, name, type, node }: SettingNode, resolve: Resolve, issues: ConfigIssues, into: Record<string, unknown>): void {
  const where = `${section}.${name}`;
  if (!checkType(node, type, where, issues)) return;
  into[name] = coerce(resolve(node, where), type);
}

function warnOf(section: SectionName, name: string, entry: LocatedEntry, issues: ConfigIssues): void {
  const known = NOT_SUPPORTED[section];
  const hint = Object.hasOwn(known, name) ? known[name] : undefined;
  const state = hint === undefined ? "known" : "supported";
  issues.warn(entry.keyAt, `${section}.${name} is not ${state}; it has no effect${hint ? ` (${hint})` : ""}`);
}

function sectionMap(root: LocatedMap, section: string, issues: ConfigIssues): LocatedMap | undefined {
  const node = root.entries.get(section)?.node;
  if (!node || isNull(node)) return undefined;
  if (node.kind === "map") return node;
  issues.problem(node.at, `${section} must be a map`);
  return undefined;
}

export function isNull(node: Located): boolean {
  return node.kind === "scalar" && node.value === null;
}

function keyOf(root: LocatedMap, section: string, name: string) {
  const map = root.entries.get(section)?.node;
  return map?.kind === "map" ? map.entries.get(name)?.keyAt : undefined;
}

function checkStrategy(root: LocatedMap, issues: ConfigIssues): void {
  const section = root.entries.get("router_settings")?.node;
  const node = section?.kind === "map" ? section.entries.get("routing_strategy")?.node : undefined;
  if (node?.kind !== "scalar" || typeof node.value !== "string" || ROUTING_STRATEGIES.includes(node.value)) return;
  issues.problem(node.at, `router_settings.routing_strategy must be one of ${ROUTING_STRATEGIES.join(", ")}`);
}
