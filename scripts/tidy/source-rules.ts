import { basename } from "node:path";
import type { Finding, SourceFile } from "./finding.ts";
import { maskSource } from "./mask.ts";
import { sizeFindings } from "./size-rules.ts";

interface WordRule {
  readonly pattern: RegExp;
  readonly message: string;
  readonly where: "code" | "comments" | "raw";
  readonly applies: (path: string) => boolean;
}

/** Files of others, which stay as they are. */
const isForeign = (path: string) => path.includes("__fixtures__/") || path.startsWith("proto/opentelemetry/");
const isSource = (path: string) => /\.(ts|tsx|js|cjs|mjs|py|proto|sh)$/.test(path) && !isForeign(path);
const isScript = (path: string) => /\.(ts|tsx|js|cjs|mjs)$/.test(path);
const isTest = (path: string) =>
  /\.test\.tsx?$|-(contract|fixtures?|harness)(-\w+)?\.ts$|(^|\/)test_[^/]+\.py$/.test(path) || path.startsWith("test/");
const mayPrint = (path: string) => /^(scripts|cli|test\/bench)\//.test(path);
const mayExportDefault = (path: string) => /\.cjs$|\.config\.(ts|mjs)$|^docs\/\.vitepress\/config\.ts$/.test(path);

const wordRules: readonly WordRule[] = [
  { pattern: /:\s*any\b(?!\s*[-'(\w])/, message: "the type any: say what it is, or unknown", where: "code", applies: isScript },
  { pattern: /\bas\s+any\b/, message: "a cast to any: say what it is, or unknown", where: "code", applies: isScript },
  { pattern: /@ts-(ignore|nocheck)\b/, message: "a silenced type error: fix it", where: "comments", applies: isScript },
  {
    pattern: /\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))/,
    message: "a reminder without an issue number, like TODO(#12)",
    where: "comments",
    applies: isScript,
  },
  {
    pattern: /(#|\/\/).*\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))/,
    message: "a reminder without an issue number, like TODO(#12)",
    where: "raw",
    applies: (path) => !isScript(path) && isSource(path),
  },
  {
    pattern: /\bconsole\.(log|info|debug)\b/,
    message: "printing in product code: use the logger",
    where: "code",
    applies: (path) => isScript(path) && !mayPrint(path),
  },
  {
    pattern: /\b(describe|it|test)(\.\w+)*\.(only|skip)\s*[(.`]|(?<!def )\b(xit|xtest|xdescribe|fit|fdescribe)\s*\(/,
    message: "a focused or skipped test",
    where: "code",
    applies: isTest,
  },
  {
    pattern: /^\s*export\s+default\b/,
    message: "a default export: name it",
    where: "code",
    applies: (path) => isScript(path) && !mayExportDefault(path),
  },
  {
    pattern: /\b(Number|parseFloat|parseInt)\(\s*[\w.]*(nano|cost|balance|amount)/i,
    message: "money as a floating point number: keep it bigint",
    where: "code",
    applies: (path) => path.startsWith("control-plane/domain/") && !isTest(path),
  },
  {
    // A handler that is a call does something about the failure.
    pattern: /\.catch\(\s*(async\s*)?\(\)\s*=>(?!\s*[\w.#]+\()/,
    message:
      "an ignored failure: ignore(promise, why) or orElse(promise, fallback, why) of common/ignore.ts, or pause() of common/clock.ts",
    where: "code",
    applies: (path) =>
      /^(common|control-plane|gateway-edge|trainer-node|cli|console)\//.test(path) &&
      isScript(path) &&
      !isTest(path) &&
      path !== "common/ignore.ts" &&
      !path.includes("__fixtures__/"),
  },
  {
    pattern: /^import (?!type\b).*from "(node:)?http";/,
    message: "node:http as a module, which loads all of Node's fetch: use common/node-http.ts, or import types",
    where: "raw",
    applies: (path) => /^(common|control-plane|gateway-edge|trainer-node|scripts\/supervisor)\//.test(path) && !isTest(path),
  },
  {
    pattern: /(?<![\w.:/$}~-])\/(root|home|work)\//,
    message: "a path of one machine",
    where: "raw",
    applies: (path) => path !== "package-lock.json",
  },
  {
    pattern: /"resolved":\s*"https?:/,
    message: "a registry address in the lock file: install with this repository's .npmrc",
    where: "raw",
    applies: (path) => basename(path) === "package-lock.json",
  },
];

/** Everything that can be said about a file from its name and text alone. */
export function sourceFindings(file: SourceFile): Finding[] {
  return [...nameFindings(file), ...(isSource(file.path) ? sizeFindings(file, isTest(file.path)) : []), ...wordFindings(file)];
}

function nameFindings({ path }: SourceFile): Finding[] {
  const banned = /^(utils?|helpers?|misc)\./.test(basename(path)) && isSource(path);
  return banned ? [{ file: path, line: 1, message: "a file name that says nothing: name the one reason to open it" }] : [];
}

function wordFindings({ path, text }: SourceFile): Finding[] {
  const rules = wordRules.filter((rule) => rule.applies(path));
  if (rules.length === 0) return [];
  const masked = isScript(path) ? maskSource(text) : { code: text, comments: text };
  const pictures = { code: masked.code.split("\n"), comments: masked.comments.split("\n"), raw: text.split("\n") };
  return rules.flatMap(({ pattern, message, where }) =>
    pictures[where].flatMap((content, index) => (pattern.test(content) ? [{ file: path, line: index + 1, message }] : [])),
  );
}
