import { createHash } from "node:crypto";
import { splitTokens } from "./tokens.ts";

const DIMENSIONS = 64;

/**
 * The built-in provider's embeddings: each token has its own direction, a text is their sum, scaled to length one. Texts that share words
 * are near each other, equal texts have equal vectors.
 */
export function embed(inputs: readonly (string | readonly number[])[], dimensions = DIMENSIONS): { vectors: number[][]; tokens: number } {
  const tokenLists = inputs.map((input) => (typeof input === "string" ? splitTokens(input) : input.map(String)));
  return {
    vectors: tokenLists.map((tokens) => normalized(tokens, dimensions)),
    tokens: tokenLists.reduce((sum, tokens) => sum + tokens.length, 0),
  };
}

function normalized(tokens: readonly string[], dimensions: number): number[] {
  const sum = new Array<number>(dimensions).fill(0);
  for (const token of tokens) {
    const direction = directionOf(token.trim().toLowerCase(), dimensions);
    for (let index = 0; index < dimensions; index++) sum[index] = (sum[index] ?? 0) + (direction[index] ?? 0);
  }
  const length = Math.hypot(...sum) || 1;
  return sum.map((value) => Math.fround(value / length));
}

function directionOf(token: string, dimensions: number): number[] {
  const bytes: number[] = [];
  for (let block = 0; bytes.length < dimensions; block++) bytes.push(...createHash("sha256").update(`${block} ${token}`).digest());
  return bytes.slice(0, dimensions).map((byte) => byte - 127.5);
}

const CATEGORIES = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/instructions",
  "self-harm/intent",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
] as const;

/** The built-in provider's moderation: a text is flagged for the categories that it names. */
export function moderate(texts: readonly string[]): object[] {
  return texts.map((text) => {
    const named = CATEGORIES.map((category) => [category, text.toLowerCase().includes(category)] as const);
    return {
      flagged: named.some(([, isNamed]) => isNamed),
      categories: Object.fromEntries(named),
      category_scores: Object.fromEntries(named.map(([category, isNamed]) => [category, isNamed ? 1 : 0])),
      category_applied_input_types: Object.fromEntries(named.map(([category, isNamed]) => [category, isNamed ? ["text"] : []])),
    };
  });
}
