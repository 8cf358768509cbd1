import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type ConfigIssues, type LocatedEntry, type LocatedMap, parseLocated, type SourcePosition } from "./located.ts";

const FILE_BYTES_MAX = 16 * 1024 * 1024;
const INCLUDES_MAX = 100;

/** The merged content of a configuration and its includes. */
export interface ReadFiles {
  root: LocatedMap;
  /** Every named file, readable or not: a change of any of them triggers a reload. */
  files: string[];
}

/**
 * Reads the configuration and merges its `include` files by LiteLLM's rules: lists are joined, any other key of an included file wins
 * over the main file's, and includes inside included files are ignored.
 */
export function readConfigFiles(path: string, issues: ConfigIssues): ReadFiles {
  const main = readOne(path, { file: path, line: 1 }, issues);
  const files = [path];
  if (!main) return { root: { kind: "map", at: { file: path, line: 1 }, entries: new Map() }, files };
  const entries = new Map(main.entries);
  for (const { name, at } of includesOf(main, issues)) {
    const file = resolve(dirname(path), name);
    files.push(file);
    const included = readOne(file, at, issues);
    for (const [section, entry] of included?.entries ?? []) entries.set(section, joined(entries.get(section), entry));
  }
  entries.delete("include");
  return { root: { ...main, entries }, files };
}

function includesOf(main: LocatedMap, issues: ConfigIssues): { name: string; at: SourcePosition }[] {
  const node = main.entries.get("include")?.node;
  if (!node || (node.kind === "scalar" && node.value === null)) return [];
  if (node.kind !== "list" || node.items.length > INCLUDES_MAX) {
    issues.problem(node.at, `include must be a list of at most ${INCLUDES_MAX} file names`);
    return [];
  }
  return node.items.flatMap((item) => {
    if (item.kind === "scalar" && typeof item.value === "string" && item.value !== "") return [{ name: item.value, at: item.at }];
    issues.problem(item.at, "include must name files");
    return [];
  });
}

function joined(before: LocatedEntry | undefined, entry: LocatedEntry): LocatedEntry {
  if (before?.node.kind !== "list" || entry.node.kind !== "list") return entry;
  return { keyAt: before.keyAt, node: { ...before.node, items: [...before.node.items, ...entry.node.items] } };
}

function readOne(file: string, namedAt: SourcePosition, issues: ConfigIssues): LocatedMap | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    issues.problem(namedAt, `${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
    return undefined;
  }
  if (text.length > FILE_BYTES_MAX) {
    issues.problem(namedAt, `${file} is larger than ${FILE_BYTES_MAX} bytes`);
    return undefined;
  }
  return parseLocated(file, text, issues);
}
