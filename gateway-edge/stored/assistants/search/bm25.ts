import type { Passage } from "./passages.ts";

export interface Found {
  readonly passage: Passage;
  /** 0 to 1, against the best of this search. */
  readonly score: number;
}

// The usual settings of BM25: how fast a repeated word stops to count, and how much a long passage is marked down.
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

interface Counted {
  readonly passage: Passage;
  readonly words: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Passages in the order in which they answer a question, by the words they share with it; those that share none are left out. */
export function search(passages: readonly Passage[], { query, limit }: { query: string; limit: number }): Found[] {
  const counted = passages.map(countWords);
  const averageLength = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const weights = new Map([...new Set(wordsOf(query))].map((word) => [word, rarity(word, counted)]));
  const scored = counted
    .map((entry) => ({ passage: entry.passage, score: scoreOf(entry, weights, averageLength) }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .slice(0, limit);
  const best = scored[0]?.score ?? 1;
  return scored.map(({ passage, score }) => ({ passage, score: score / best }));
}

function countWords(passage: Passage): Counted {
  const words = new Map<string, number>();
  let length = 0;
  for (const word of wordsOf(passage.text)) {
    words.set(word, (words.get(word) ?? 0) + 1);
    length++;
  }
  return { passage, words, length };
}

/** Letters and digits of every script; case does not matter. Scripts without spaces are taken sign by sign. */
function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

function rarity(word: string, counted: readonly Counted[]): number {
  const holders = counted.filter(({ words }) => words.has(word)).length;
  return Math.log(1 + (counted.length - holders + 0.5) / (holders + 0.5));
}

function scoreOf({ words, length }: Counted, weights: ReadonlyMap<string, number>, averageLength: number): number {
  let score = 0;
  for (const [word, weight] of weights) {
    const count = words.get(word) ?? 0;
    if (count === 0) continue;
    const longer = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / averageLength;
    score += (weight * count * (SATURATION + 1)) / (count + SATURATION * longer);
  }
  return score;
}
