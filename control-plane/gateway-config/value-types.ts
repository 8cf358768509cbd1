import type { ConfigIssues, Located, SourcePosition } from "./located.ts";

/** Type of a setting. `count` is an integer from zero. */
export type ValueType =
  | "flag"
  | "number"
  | "count"
  | "text"
  | "texts"
  | "map"
  | "list"
  | "fallbacks"
  | "aliases"
  | "secret"
  | "text or texts"
  | "flag or map";

const EXPECTED: Readonly<Record<ValueType, string>> = {
  flag: "true or false",
  number: "a number, zero or more",
  count: "a whole number, zero or more",
  text: "text",
  secret: "text",
  texts: "a list of texts",
  "text or texts": "text or a list of texts",
  map: "a map",
  "flag or map": "true, false or a map",
  list: "a list",
  fallbacks: 'a list of maps from a model name to a list of model names, like [{"gpt-4o": ["claude"]}]',
  aliases: "a map from a name to a model name or to {model, hidden}",
};

/** Checks an unresolved value; true if it has the type. A reference to an environment variable passes as a number or flag. */
export function checkType(node: Located, type: ValueType, where: string, issues: ConfigIssues): boolean {
  if (fits(node, type)) return true;
  issues.problem(node.at, `${where} must be ${EXPECTED[type]}`);
  return false;
}

function fits(node: Located, type: ValueType): boolean {
  switch (type) {
    case "flag":
      return node.kind === "scalar" && (typeof node.value === "boolean" || isReference(node) || /^(true|false)$/i.test(String(node.value)));
    case "number":
    case "count":
      return node.kind === "scalar" && (isReference(node) || isCountable(node.value, type));
    case "text":
    case "secret":
      return node.kind === "scalar" && typeof node.value === "string";
    case "texts":
      return node.kind === "list" && node.items.every((item) => fits(item, "text"));
    case "text or texts":
      return fits(node, "text") || fits(node, "texts");
    case "map":
      return node.kind === "map";
    case "flag or map":
      return fits(node, "map") || fits(node, "flag");
    case "list":
      return node.kind === "list";
    case "fallbacks":
      return node.kind === "list" && node.items.every(isFallback);
    case "aliases":
      return node.kind === "map" && [...node.entries.values()].every((entry) => aliasTarget(entry.node) !== undefined);
  }
}

function isReference(node: Located): boolean {
  return node.kind === "scalar" && typeof node.value === "string" && node.value.startsWith("os.environ/");
}

// Python's YAML parser reads 1e-6 as text, which LiteLLM converts to a number.
function isCountable(value: unknown, type: "number" | "count"): boolean {
  if (typeof value !== "number" && (typeof value !== "string" || value.trim() === "")) return false;
  const number = Number(value);
  return Number.isFinite(number) && number >= 0 && (type === "number" || Number.isSafeInteger(number));
}

function isFallback(node: Located): boolean {
  return node.kind === "map" && [...node.entries.values()].every((entry) => fits(entry.node, "texts"));
}

/** Converts a resolved value to its type: numbers and flags may have come as text. */
export function coerce(value: unknown, type: ValueType): unknown {
  if (typeof value !== "string") return value;
  if (type === "flag" && /^(true|false)$/i.test(value)) return value.toLowerCase() === "true";
  if ((type === "number" || type === "count") && isCountable(value, type)) return Number(value);
  return value;
}

/** A model group that a setting names, with its position. */
export interface NamedGroup {
  name: string;
  at: SourcePosition;
}

/** The sources and targets of a list of fallbacks. */
export function fallbackGroups(node: Located): { from: NamedGroup[]; to: NamedGroup[] } {
  const maps = node.kind === "list" ? node.items.flatMap((item) => (item.kind === "map" ? [item] : [])) : [];
  const entries = maps.flatMap((map) => [...map.entries]);
  return {
    from: entries.map(([name, { keyAt }]) => ({ name, at: keyAt })),
    to: entries.flatMap(([, entry]) => namesIn(entry.node)),
  };
}

export function namesIn(node: Located): NamedGroup[] {
  if (node.kind !== "list") return [];
  return node.items.flatMap((item) =>
    item.kind === "scalar" && typeof item.value === "string" ? [{ name: item.value, at: item.at }] : [],
  );
}

export function aliasTarget(node: Located): NamedGroup | undefined {
  const target = node.kind === "map" ? node.entries.get("model")?.node : node;
  return target?.kind === "scalar" && typeof target.value === "string" ? { name: target.value, at: target.at } : undefined;
}
