import type { Passage } from "./passages.ts";

export interface Found {
  readonly passage: Passage;
  /** 0 to 1, relative to the best match of this search. */
  readonly score: number;
}

// The usual parameters of BM25: k1 (term frequency saturation) and b (length normalization).
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

interface CountedPassage {
  readonly passage: Passage;
  readonly words: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Passages ranked by BM25; passages that share no word with the query are left out. */
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

function countWords(passage: Passage): CountedPassage {
  const words = new Map<string, number>();
  let length = 0;
  for (const word of wordsOf(passage.text)) {
    words.set(word, (words.get(word) ?? 0) + 1);
    length++;
  }
  return { passage, words, length };
}

/** Words of letters and digits of every script, in lower case. Scripts without spaces are split into characters. */
function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

function rarity(word: string, counted: readonly CountedPassage[]): number {
  const holders = counted.filter(({ words }) => words.has(word)).length;
  return Math.log(1 + (counted.length - holders + 0.5) / (holders + 0.5));
}

function scoreOf({ words, length }: CountedPassage, weights: ReadonlyMap<string, number>, averageLength: number): number {
  let score = 0;
  for (const [word, weight] of weights) {
    const count = words.get(word) ?? 0;
    if (count === 0) continue;
    const longer = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / averageLength;
    score += (weight * count * (SATURATION + 1)) / (count + SATURATION * longer);
  }
  return score;
}
