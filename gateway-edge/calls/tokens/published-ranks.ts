import { RankTable } from "./rank-table.ts";
import { turn } from "./turn.ts";

/** A few milliseconds of work each: all at once would delay every call of the process. */
const LINES_PER_TURN = 4096;
const [NEW_LINE, SPACE, ZERO] = [0x0a, 0x20, 0x30];

/** Reads a vocabulary as it is published for tiktoken: a line for each token, with its bytes in base64 and its rank. Yields to other work meanwhile. */
export async function readRanks(published: Uint8Array): Promise<RankTable> {
  const reader = new LineReader(published);
  const table = new RankTable(linesOf(published), Math.ceil((published.length * 3) / 4));
  while (reader.isMore) {
    addLines(reader, table);
    await turn();
  }
  return table;
}

function linesOf(published: Uint8Array): number {
  let lines = 1;
  for (let at = published.indexOf(NEW_LINE); at >= 0; at = published.indexOf(NEW_LINE, at + 1)) lines++;
  return lines;
}

/** Adds the lines of a turn. */
function addLines(reader: LineReader, table: RankTable): void {
  const ends: number[] = [];
  const first = table.size;
  reader.end = 0;
  while (reader.isMore && ends.length < LINES_PER_TURN) {
    reader.token();
    if (reader.number() !== first + ends.length)
      throw new Error(`line ${first + ends.length + 1} of the vocabulary is not a token and its rank`);
    ends.push(reader.end);
  }
  const bytes = reader.text();
  let start = 0;
  for (const end of ends) {
    if (!table.add(bytes, start, end)) throw new Error(`the token of line ${table.size + 1} of the vocabulary stands twice`);
    start = end;
  }
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
