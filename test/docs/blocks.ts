import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");

/** A fenced block of a page. Attributes follow the language: ```sh refused="402" or ```python file="mine.py". */
export interface Block {
  readonly page: string;
  /** Of the fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** Why the block cannot run in a test; the site shows it below the block. */
  readonly notRun: string | undefined;
  /** The statuses, in order, of its requests that are refused. */
  readonly refused: readonly string[];
  /** The block is a file of this name, which a later block of the page uses. */
  readonly file: string | undefined;
}

/** Not programs: what a program prints, and texts. */
export const TEXTS = new Set(["console", "text", "json", "yaml", "ini"]);
export const PROGRAMS = new Set(["sh", "python", "js", "ts"]);

/** Operators' pages have a start of their own; decisions say why. */
const ELSEWHERE = /^docs\/(operations|decisions|project|node_modules|\.vitepress)\//;

export function pages(): string[] {
  const found = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((name) => join("docs", name));
  return ["README.md", "examples/README.md", ...found.filter((path) => path.endsWith(".md") && !ELSEWHERE.test(path)).sort()];
}

export function operatorPages(): string[] {
  const found = readdirSync(join(root, "docs/operations"), { recursive: true, encoding: "utf8" });
  return found
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs/operations", name))
    .sort();
}

export const readPage = (page: string): string => readFileSync(resolve(root, page), "utf8");

export function blocksOf(page: string, text: string = readPage(page)): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; info: string; lines: string[] } | undefined;
  for (const [index, content] of text.split("\n").entries()) {
    const isFence = content.startsWith("```");
    if (!isFence) open?.lines.push(content);
    else if (open === undefined) open = { line: index + 1, info: content.slice(3).trim(), lines: [] };
    else {
      blocks.push(blockOf(relative(root, resolve(root, page)), open));
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: the block does not end`);
  return blocks;
}

function blockOf(page: string, { line, info, lines }: { line: number; info: string; lines: readonly string[] }): Block {
  const [language = ""] = info.split(" ");
  const attributes = new Map([...info.matchAll(/([a-z-]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]));
  return {
    page,
    line,
    language,
    text: lines.join("\n"),
    notRun: attributes.get("not-run"),
    refused: attributes.get("refused")?.split(",") ?? [],
    file: attributes.get("file"),
  };
}
