import { CountingPace } from "./counting-pace.ts";
import { lastCut, wholeCharacters } from "./cuts.ts";
import type { RankTable } from "./rank-table.ts";

/** How a text is split before merging: a private sticky expression, because it stores where it stopped. */
export type Split = RegExp & { readonly [OWN]: true };
declare const OWN: unique symbol;

/** Copies a published expression, which others may use too. */
export function splitOf(published: RegExp): Split {
  return new RegExp(published.source, "uy") as Split;
}

export interface Vocabulary {
  /** How many tokens a text has; rests as its pace says. Text that looks like a special token is plain text. */
  count(text: string, pace?: CountingPace): Promise<number>;
  /** The same count without yielding: for texts of a few thousand characters. */
  countNow(text: string): number;
}

/**
 * What is split and merged without a rest. A text without a word's end for so long is not language; splitting it adds a token or two, and keeps memory and
 * pauses small: some ten milliseconds.
 */
const WINDOW_CHARACTERS = 2 ** 14;
/** More than there are positions, so that a rank and a position fit into one number. */
const POSITIONS = 2 ** 20;

/** Byte-pair encoding in n log n: libraries merge by scanning, which takes half a minute for 200,000 equal letters. */
export function createVocabulary(table: RankTable, split: Split): Vocabulary {
  const countPart = (part: string) => (table.rankOf(part, 0, part.length) >= 0 ? 1 : countMerged(part, table));

  return {
    async count(text, pace = new CountingPace()) {
      let total = 0;
      for (const window of windowsOf(text)) {
        for (const part of partsOf(window, split)) {
          total += countPart(part);
          if (pace.isOver(part.length)) await pace.rest();
        }
      }
      return total;
    },
    countNow(text) {
      let total = 0;
      for (const window of windowsOf(text)) for (const part of partsOf(window, split)) total += countPart(part);
      return total;
    },
  };
}

/** How many pieces a text is split into before merging. Each has at least one token: no vocabulary with this split counts fewer. */
export function countPieces(text: string, split: Split): number {
  let pieces = 0;
  for (let at = 0; at < text.length; at = pieceEnd(text, at, split)) pieces++;
  return pieces;
}

/** A text in parts that add up to it, cut where every vocabulary splits. */
function* windowsOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const window = text.slice(at, at + WINDOW_CHARACTERS);
    const isLast = at + window.length === text.length;
    const cut = isLast ? window.length : lastCut(window, 0) || wholeCharacters(window);
    yield isLast ? window : window.slice(0, cut);
    at += cut;
  }
}

/** Pieces of a text, as the vocabulary splits them, each as its bytes. */
function* partsOf(text: string, split: Split): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const start = at;
    at = pieceEnd(text, start, split);
    yield bytesKey(text.slice(start, at));
  }
}

/** Where the piece that begins at `start` ends. Most pieces are plain words, which need no regular expression: three times as fast. */
function pieceEnd(text: string, start: number, split: Split): number {
  const end = plainWordEnd(text, start);
  if (end > start) return end;
  split.lastIndex = start;
  split.test(text);
  // A split that skips a character would loop here forever.
  return Math.max(split.lastIndex, start + 1);
}

const [SPACE, APOSTROPHE, ASCII_END] = [0x20, 0x27, 0x80];

/**
 * The end of a word of lower-case ASCII letters with at most one space before it, if what follows cannot belong to the same piece;
 * otherwise `start`. Every published split makes it one piece.
 */
function plainWordEnd(text: string, start: number): number {
  const first = text.charCodeAt(start) === SPACE ? start + 1 : start;
  let end = first;
  while (isSmallLetter(text.charCodeAt(end))) end++;
  if (end === first) return start;
  if (end === text.length) return end;
  const next = text.charCodeAt(end);
  return next < ASCII_END && next !== APOSTROPHE && !isSmallLetter(next | SPACE) ? end : start;
}

function isSmallLetter(code: number): boolean {
  return code >= 0x61 && code <= 0x7a;
}

/** The UTF-8 bytes of a text as a string with a character for each byte; ASCII is its own key. */
function bytesKey(text: string): string {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) > 127) return Buffer.from(text).toString("latin1");
  }
  return text;
}

/** Merges the pair of the lowest rank, the leftmost of equal ones, until none is left. `bytes` has one character for each byte. */
function countMerged(bytes: string, table: RankTable): number {
  const length = bytes.length;
  // A linked list of parts by their start; ends[i] is also the start of the next part.
  const ends = new Int32Array(length + 1);
  const previous = new Int32Array(length + 1);
  const pairRank = new Int32Array(length + 1).fill(-1);
  const heap = new MinHeap();
  const offer = (start: number) => {
    const next = ends[start] ?? length;
    const end = next < length ? (ends[next] ?? length) : -1;
    const rank = end < 0 ? -1 : table.rankOf(bytes, start, end);
    pairRank[start] = rank;
    if (rank >= 0) heap.push(rank * POSITIONS + start);
  };
  for (let index = 0; index < length; index++) {
    ends[index] = index + 1;
    previous[index] = index - 1;
  }
  for (let index = 0; index + 1 < length; index++) offer(index);
  let parts = length;
  for (let lowest = heap.pop(); lowest !== undefined; lowest = heap.pop()) {
    const start = lowest % POSITIONS;
    // Stale: one of its halves was merged since it was added.
    if (pairRank[start] !== Math.floor(lowest / POSITIONS)) continue;
    const swallowed = ends[start] ?? length;
    const end = ends[swallowed] ?? length;
    ends[start] = end;
    pairRank[swallowed] = -1;
    if (end < length) previous[end] = start;
    parts--;
    offer(start);
    const before = previous[start] ?? -1;
    if (before >= 0) offer(before);
  }
  return parts;
}

/** A binary heap of numbers. */
class MinHeap {
  readonly #items: number[] = [];

  push(item: number): void {
    const items = this.#items;
    let index = items.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = items[parent] ?? 0;
      if (above <= item) break;
      items[index] = above;
      index = parent;
    }
    items[index] = item;
  }

  pop(): number | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return top;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && (items[child + 1] ?? 0) < (items[child] ?? 0)) child++;
      const below = items[child] ?? 0;
      if (below >= last) break;
      items[index] = below;
      index = child;
    }
    items[index] = last;
    return top;
  }
}
