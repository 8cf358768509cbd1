import type { Finding, SourceFile } from "./finding.ts";
import { maskSource } from "./mask.ts";

/** How many comment lines a text has, and in how many of them a word of the private vocabulary stands. */
export interface LanguageCount {
  readonly commentLines: number;
  readonly oddLines: number;
}

/**
 * Words that replaced the field's own terms here. docs/glossary.md has the terms to use instead. A newcomer searches for the word that the
 * field uses, so a comment that avoids it cannot be found.
 */
const ODD_WORDS = /\b(nobody|whoever|whom|told|heard|kept|worded|wording|askers?|doors?|carriers?|faces?|standing|he|him|his|askings?)\b/i;

/** Odd words allowed in 100 comment lines of product code. It only ever goes down. */
export const ODD_PER_100_MAX = 1;

/** Parts of identifiers that are refused: JobFace, openAiDoor, asker_id. Words inside a longer word, such as interface, are none. */
const REFUSED_PARTS = new Set(
  "asker askers carrier carriers door doors face faces heard nobody nobodys told whoever worded wording".split(" "),
);

const isCounted = (path: string) =>
  /\.tsx?$/.test(path) &&
  !/\.test\.tsx?$|\.d\.ts$/.test(path) &&
  !/(^|\/)(gen|__fixtures__)\//.test(path) &&
  !path.startsWith("scripts/tidy/");

/** Counts one file; a file whose comments do not count has none. */
export function countLanguage({ path, text }: SourceFile): LanguageCount {
  if (!isCounted(path)) return { commentLines: 0, oddLines: 0 };
  const lines = maskSource(text)
    .comments.split("\n")
    .filter((line) => /\w/.test(line));
  return { commentLines: lines.length, oddLines: lines.filter((line) => ODD_WORDS.test(line)).length };
}

/** Odd lines of all files in 100 comment lines. */
export function oddPer100(counts: readonly LanguageCount[]): number {
  const lines = counts.reduce((sum, count) => sum + count.commentLines, 0);
  const odd = counts.reduce((sum, count) => sum + count.oddLines, 0);
  return lines === 0 ? 0 : (100 * odd) / lines;
}

/** Names in code that hide the field's own term. */
export function refusedNames({ path, text }: SourceFile): Finding[] {
  if (!isCounted(path) || path.startsWith("test/")) return [];
  return maskSource(text)
    .code.split("\n")
    .flatMap((content, index) =>
      [...content.matchAll(/[A-Za-z_$][\w$]*/g)]
        .filter(([name]) => partsOf(name).some((part) => REFUSED_PARTS.has(part)))
        .map(([name]) => ({ file: path, line: index + 1, message: `the name ${name}: docs/glossary.md has the term to use instead` })),
    );
}

const partsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split("_");
