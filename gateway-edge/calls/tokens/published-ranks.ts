import { turn } from "./turn.ts";

/** The rank of each token of a vocabulary, by its bytes: a text with a character for each byte. */
export interface RankTable {
  readonly rankOf: ReadonlyMap<string, number>;
  /** The length of the longest token in bytes. */
  readonly longest: number;
}

/** A few milliseconds of work each: all at once would delay every call of the process. */
const LINES_PER_TURN = 4096;
const [SPACE, ZERO] = [0x20, 0x30];

/** Reads a vocabulary as it is published for tiktoken: a line for each token, with its bytes in base64 and its rank. Yields to other work meanwhile. */
export async function readRanks(published: Uint8Array): Promise<RankTable> {
  const rankOf = new Map<string, number>();
  const reader = new LineReader(published);
  let longest = 0;
  while (reader.isMore) {
    longest = Math.max(longest, addLines(reader, rankOf));
    await turn();
  }
  return { rankOf, longest };
}

/** Adds the lines of a turn and returns the length of their longest token. */
function addLines(reader: LineReader, rankOf: Map<string, number>): number {
  const ends: number[] = [];
  const first = rankOf.size;
  reader.end = 0;
  while (reader.isMore && ends.length < LINES_PER_TURN) {
    reader.token();
    if (reader.number() !== first + ends.length)
      throw new Error(`line ${first + ends.length + 1} of the vocabulary is not a token and its rank`);
    ends.push(reader.end);
  }
  const bytes = reader.text();
  let [start, longest] = [0, 0];
  for (const end of ends) {
    rankOf.set(bytes.slice(start, end), rankOf.size);
    longest = Math.max(longest, end - start);
    start = end;
  }
  if (rankOf.size !== first + ends.length) throw new Error(`a token up to line ${first + ends.length} of the vocabulary stands twice`);
  return longest;
}

/** Reads lines byte by byte: a buffer and a text for each of 200,000 tokens take two to three times as long. */
class LineReader {
  readonly #published: Uint8Array;
  readonly #bytes: Buffer;
  #at = 0;
  /** Where the bytes of the tokens of this turn end. */
  end = 0;

  constructor(published: Uint8Array) {
    this.#published = published;
    this.#bytes = Buffer.alloc(published.length);
  }

  get isMore(): boolean {
    return this.#at < this.#published.length;
  }

  /** Decodes a token up to the space after it. */
  token(): void {
    let [bits, held] = [0, 0];
    for (let letter = this.#next(); letter > SPACE; letter = this.#next()) {
      if (letter === PADDING) continue;
      bits = (bits << 6) | (SIX_BITS[letter] ?? 0);
      held += 6;
      if (held < 8) continue;
      held -= 8;
      this.#bytes[this.end++] = (bits >> held) & 0xff;
    }
  }

  /** The number that ends the line; NaN: there is none. */
  number(): number {
    let number = Number.NaN;
    for (let digit = this.#next(); digit > SPACE; digit = this.#next()) number = (number || 0) * 10 + digit - ZERO;
    return number;
  }

  /** The tokens of this turn, one after the other. */
  text(): string {
    return this.#bytes.toString("latin1", 0, this.end);
  }

  /** The next byte; 0: there is none. */
  #next(): number {
    return this.#published[this.#at++] ?? 0;
  }
}

const SIX_BITS = new Uint8Array(256);
for (const [value, letter] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries()) {
  SIX_BITS[letter.charCodeAt(0)] = value;
}
const PADDING = "=".charCodeAt(0);
