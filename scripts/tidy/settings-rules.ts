import type { Finding, SourceFile } from "./finding.ts";
import { maskSource } from "./mask.ts";

/** Variables of other programs, and those of the examples. */
const FOREIGN = new Set([
  "ANTHROPIC_API_KEY",
  "AZURE_API_BASE",
  "AZURE_API_KEY",
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "MASTER_KEY_FOR_PROXY",
  "NO_COLOR",
  "NO_PROXY",
  "OMP_NUM_THREADS",
  "OPENAI_API_KEY",
  "OPENAI_API_KEY_FILE",
  "XDG_CONFIG_HOME",
]);

const NAME = /(?<![\w$./-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w(])/g;
const ASSIGNED = /(?<![\w$./-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=/g;

const isSource = (path: string) => /\.(ts|tsx|py)$/.test(path) && !/\.test\.tsx?$|^test\/|^scripts\/tidy\//.test(path);
const namesSettings = (path: string) => path.endsWith(".md") && path !== "CHANGELOG.md";

/** What documents may name: the settings of the processes, and what else has that name in code, such as an error code. */
export interface KnownNames {
  readonly settings: ReadonlySet<string>;
  readonly inCode: ReadonlySet<string>;
}

/** Names of the form `UPPER_CASE` outside comments. */
export function namesInCode({ path, text }: SourceFile): string[] {
  if (!isSource(path)) return [];
  const { comments } = path.endsWith(".py") ? { comments: "" } : maskSource(text);
  return [...text.matchAll(/[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+/g)].filter(({ index }) => (comments[index] ?? " ") === " ").map(([name]) => name);
}

/** A document may not name a setting that no process reads. */
export function settingFindings({ path, text }: SourceFile, { settings, inCode }: KnownNames): Finding[] {
  if (!namesSettings(path)) return [];
  const isSetting = (name: string) => settings.has(name) || FOREIGN.has(name) || (inCode.has(name) && name.startsWith("GW_"));
  return text.split("\n").flatMap((content, index) => {
    const assigned = [...content.matchAll(ASSIGNED)].map(([, name = ""]) => name).filter((name) => !isSetting(name));
    const named = [...content.matchAll(NAME)].map(([name]) => name).filter((name) => !isSetting(name) && !inCode.has(name));
    return [...new Set([...assigned, ...named])].map((name) => ({
      file: path,
      line: index + 1,
      message: `names ${name}, which is neither a setting nor a name in the code`,
    }));
  });
}

/** The page of settings is what the processes declare. */
export function pageFindings(written: string | undefined, printed: string): Finding[] {
  if (written === printed) return [];
  return [{ file: "docs/settings.md", line: 1, message: "is out of date: node scripts/print-settings.ts" }];
}
