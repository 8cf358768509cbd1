import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";

export interface SourceRegex {
  /** Path in the repository. */
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

export interface SourceRegexes {
  readonly literals: readonly SourceRegex[];
  /** Files that make expressions from text. */
  readonly dynamic: readonly string[];
}

const ROOMS = ["common", "control-plane", "gateway-edge", "trainer-node", "cli"];
const isProduct = (path: string) =>
  path.endsWith(".ts") && !/\.test\.ts$|-(contract|fixtures?|harness|support)(-\w+)?\.ts$|\/(__fixtures__|testing|gen)\//.test(path);

/** Every regular expression in the source of the product, found by the compiler's parser. */
export function sourceRegexes(root: string): SourceRegexes {
  const literals: SourceRegex[] = [];
  const dynamic = new Set<string>();
  for (const path of ROOMS.flatMap((room) => filesUnder(join(root, room)))) {
    const file = relative(root, path);
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) literals.push({ file, ...splitLiteral(node.text) });
      if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp") dynamic.add(file);
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true));
  }
  return { literals, dynamic: [...dynamic].sort() };
}

function splitLiteral(text: string): { source: string; flags: string } {
  const end = text.lastIndexOf("/");
  return { source: text.slice(1, end), flags: text.slice(end + 1) };
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(isProduct)
    .sort();
}
