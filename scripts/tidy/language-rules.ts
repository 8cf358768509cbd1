import type { SourceFile } from "./finding.ts";
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
const ODD_WORDS =
  /\b(nobody|whoever|whom|told|heard|kept|worded|wording|askers?|doors?|carriers?|faces?|standing|he|him|his|outbox|askings?)\b/i;

/** Odd words allowed in 100 comment lines of product code. It only ever goes down. */
export const ODD_PER_100_MAX = 1;

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
