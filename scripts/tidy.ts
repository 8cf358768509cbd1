/** Style that matters is a program that fails: sizes, names, banned words, machine paths, documents that name missing files or settings. */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { settingsPage } from "./settings/page.ts";
import { documentedNames } from "./settings/processes.ts";
import { documentFindings, isDocument } from "./tidy/doc-rules.ts";
import type { Finding } from "./tidy/finding.ts";
import { countLanguage, type LanguageCount, ODD_PER_100_MAX, oddPer100, refusedNames } from "./tidy/language-rules.ts";
import { OUTBOUND, outboundFindings } from "./tidy/outbound-rules.ts";
import { OWN_TIME, portFindings } from "./tidy/port-rules.ts";
import { namesInCode, pageFindings, settingFindings } from "./tidy/settings-rules.ts";
import { listFindings } from "./tidy/size-rules.ts";
import { sourceFindings } from "./tidy/source-rules.ts";

const root = resolve(import.meta.dirname, "..");

const files = repositoryFiles();
const exists = (path: string) => existsSync(join(root, path));
const known = { settings: documentedNames(), inCode: new Set(files.flatMap((path) => namesInCode({ path, text: readText(path) ?? "" }))) };
const findings = [
  ...files.flatMap(inspect),
  ...listFindings(exists, [...Object.keys(OWN_TIME), ...Object.keys(OUTBOUND)]),
  ...pageFindings(readText("docs/settings.md"), settingsPage()),
];
for (const { file, line, message } of findings) console.log(`${file}:${line}: ${message}`);
const odd = oddPer100(files.map(languageOf));
console.log(
  `tidy: ${findings.length} finding(s); ${odd.toFixed(1)} words outside docs/glossary.md per 100 comment lines (at most ${ODD_PER_100_MAX})`,
);
process.exitCode = findings.length > 0 || odd > ODD_PER_100_MAX ? 1 : 0;

function languageOf(path: string): LanguageCount {
  return countLanguage({ path, text: /\.tsx?$/.test(path) ? (readText(path) ?? "") : "" });
}

/** Tracked files and those about to be: a finding should show before the commit, not after it. */
function repositoryFiles(): string[] {
  const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  return [...new Set(list.split("\0"))].filter((path) => path !== "" && isPlainFile(path));
}

function isPlainFile(path: string): boolean {
  return lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile() ?? false;
}

function inspect(path: string): Finding[] {
  const text = readText(path);
  if (text === undefined) return [];
  const file = { path, text };
  return [
    ...sourceFindings(file),
    ...portFindings(file),
    ...outboundFindings(file),
    ...refusedNames(file),
    ...settingFindings(file, known),
    ...(isDocument(path) ? documentFindings(file, exists) : []),
  ];
}

/** Undefined for what is not text: images and recorded binary bodies. A file removed by someone between list and read is skipped too. */
function readText(path: string): string | undefined {
  if (!isPlainFile(path)) return undefined;
  const bytes = readFileSync(join(root, path));
  return bytes.subarray(0, 8_000).includes(0) ? undefined : bytes.toString("utf8");
}
