import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Entry, type Findings, type LocatedMap, type Position, parseLocated } from "./located.ts";

const FILE_BYTES_MAX = 16 * 1024 * 1024;
const INCLUDES_MAX = 100;

export interface ReadFiles {
  root: LocatedMap;
  /** Every file that was asked for, also those that could not be read: a change of any of them is a reason to look again. */
  files: string[];
}

/**
 * The configuration with its `include` files in it, by LiteLLM's rules: lists are joined, any other key of an included file wins over
 * the main file's; an include inside an included file is not followed.
 */
export function readConfigFiles(path: string, findings: Findings): ReadFiles {
  const main = readOne(path, { file: path, line: 1 }, findings);
  const files = [path];
  if (!main) return { root: { kind: "map", at: { file: path, line: 1 }, entries: new Map() }, files };
  const entries = new Map(main.entries);
  for (const { name, at } of includesOf(main, findings)) {
    const file = resolve(dirname(path), name);
    files.push(file);
    const included = readOne(file, at, findings);
    for (const [section, entry] of included?.entries ?? []) entries.set(section, joined(entries.get(section), entry));
  }
  entries.delete("include");
  return { root: { ...main, entries }, files };
}

function includesOf(main: LocatedMap, findings: Findings): { name: string; at: Position }[] {
  const node = main.entries.get("include")?.node;
  if (!node || (node.kind === "scalar" && node.value === null)) return [];
  if (node.kind !== "list" || node.items.length > INCLUDES_MAX) {
    findings.problem(node.at, `include must be a list of at most ${INCLUDES_MAX} file names`);
    return [];
  }
  return node.items.flatMap((item) => {
    if (item.kind === "scalar" && typeof item.value === "string" && item.value !== "") return [{ name: item.value, at: item.at }];
    findings.problem(item.at, "include must name files");
    return [];
  });
}

function joined(before: Entry | undefined, entry: Entry): Entry {
  if (before?.node.kind !== "list" || entry.node.kind !== "list") return entry;
  return { keyAt: before.keyAt, node: { ...before.node, items: [...before.node.items, ...entry.node.items] } };
}

function readOne(file: string, namedAt: Position, findings: Findings): LocatedMap | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    findings.problem(namedAt, `${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
    return undefined;
  }
  if (text.length > FILE_BYTES_MAX) {
    findings.problem(namedAt, `${file} is larger than ${FILE_BYTES_MAX} bytes`);
    return undefined;
  }
  return parseLocated(file, text, findings);
}
