import { dirname, join, normalize } from "node:path";
import type { Finding, SourceFile } from "./finding.ts";

const FOLDERS = [
  "common",
  "control-plane",
  "gateway-edge",
  "trainer-node",
  "proto",
  "scripts",
  "test",
  "docs",
  "console",
  "cli",
  "sdk",
  "deploy",
  ".ci",
];
const EXTENSIONS = "ts|tsx|js|cjs|mjs|json|proto|md|yaml|yml|sh|py|css|html|toml|txt";
const REPOSITORY_PATH = new RegExp(`^(?:${FOLDERS.map((folder) => folder.replace(".", "\\.")).join("|")})/[\\w./@-]*$`);
const NAMES_A_FILE = new RegExp(`(\\.(?:${EXTENSIONS})|/)$`);
const GENERATED = /^(proto\/gen|data|dist)\//;
const LINK = /\[[^\]]*\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g;
const TICKED = /`([^`]+)`/g;

export const isDocument = (path: string) =>
  /^(README|ARCHITECTURE|CONTRIBUTING|SECURITY|CHANGELOG)\.md$/.test(path) || /^docs\/.*\.md$/.test(path);

/** A document may not name a file that is not there: this is what keeps ARCHITECTURE.md from rotting. */
export function documentFindings({ path, text }: SourceFile, exists: (path: string) => boolean): Finding[] {
  let fenced = false;
  return text.split("\n").flatMap((content, index) => {
    const fence = /^\s*(```|~~~)/.test(content);
    if (fence) fenced = !fenced;
    if (fence || fenced) return [];
    const missing = [...linkTargets(path, content), ...tickedPaths(content)].filter((target) => !exists(target));
    return missing.map((target) => ({ file: path, line: index + 1, message: `names ${target}, which does not exist` }));
  });
}

function linkTargets(document: string, content: string): string[] {
  const withoutTicks = content.replace(TICKED, "``");
  return [...withoutTicks.matchAll(LINK)].flatMap(([, target = ""]) => {
    const path = target.replace(/[#?].*$/, "");
    if (path === "" || /^[a-z][a-z+.-]*:/i.test(target) || path.startsWith("/")) return [];
    return [normalize(join(dirname(document), decodeURIComponent(path)))];
  });
}

function tickedPaths(content: string): string[] {
  return [...content.matchAll(TICKED)].flatMap(([, ticked = ""]) => {
    const path = ticked.replace(/:\d+(-\d+)?$/, "");
    return REPOSITORY_PATH.test(path) && NAMES_A_FILE.test(path) && !GENERATED.test(path) ? [path] : [];
  });
}
