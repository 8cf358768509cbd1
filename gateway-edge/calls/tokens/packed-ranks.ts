/**
 * The ranks of a vocabulary in a hash table of numbers. 200,000 texts in a map are 25 MB that every full garbage collection visits; this is
 * 4 MB that none does.
 */
export interface PackedRanks {
  /** The bytes of all tokens, in the order of their ranks. */
  readonly bytes: Uint8Array;
  /** Where the bytes of a rank end; they start where those of the rank before it end. */
  readonly ends: Uint32Array;
  /** A rank and one, by the hash of its bytes; zero: free. A taken place continues at the next one. */
  readonly places: Int32Array;
  /** The length of the longest token in bytes. */
  readonly longest: number;
}

/** At most this part of the places is taken, so that most ranks are at the place of their hash. */
const FILL_MAX = 0.5;
const LINES_PER_TURN = 8192;
const [NEWLINE, SPACE, ZERO] = [0x0a, 0x20, 0x30];

/** Reads a vocabulary as published for tiktoken: a line for each token, its bytes in base64 and its rank. In steps: all at once would delay every call. */
export async function readRanks(published: Uint8Array): Promise<PackedRanks> {
  const lines = countLines(published);
  const ends = new Uint32Array(lines);
  const places = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(lines, 1) / FILL_MAX)));
  const last = places.length - 1;
  const reader = new LineReader(published);
  let longest = 0;
  for (let line = 0; line < lines; line++) {
    if (line % LINES_PER_TURN === LINES_PER_TURN - 1) await turn();
    const start = reader.end;
    const hash = reader.token();
    if (reader.number() !== line) throw new Error(`line ${line + 1} of the vocabulary is not a token and its rank`);
    ends[line] = reader.end;
    longest = Math.max(longest, reader.end - start);
    let place = placeOf(hash) & last;
    while (places[place] !== 0) place = (place + 1) & last;
    places[place] = line + 1;
  }
  return { bytes: reader.bytes.slice(0, reader.end), ends, places, longest };
}

/** Reads lines byte by byte: Buffer would make a text of each token. */
class LineReader {
  readonly #published: Uint8Array;
  #at = 0;
  /** The bytes of all tokens so far, up to `end`. */
  readonly bytes: Uint8Array;
  end = 0;

  constructor(published: Uint8Array) {
    this.#published = published;
    this.bytes = new Uint8Array(Math.ceil((published.length * 3) / 4));
  }

  /** Decodes a token up to the space after it, and returns its hash. */
  token(): number {
    let [bits, held, hash] = [0, 0, HASH_START];
    for (let letter = this.#next(); letter > SPACE; letter = this.#next()) {
      if (letter === PADDING) continue;
      bits = (bits << 6) | (SIX_BITS[letter] as number);
      held += 6;
      if (held < 8) continue;
      held -= 8;
      const byte = (bits >> held) & 0xff;
      this.bytes[this.end++] = byte;
      hash = hashOn(hash, byte);
    }
    return hash;
  }

  /** The number that ends the line; NaN: there is none. */
  number(): number {
    let number = Number.NaN;
    for (let digit = this.#next(); digit > SPACE; digit = this.#next()) number = (number || 0) * 10 + digit - ZERO;
    return number;
  }

  /** The next byte; 0: there is none. */
  #next(): number {
    return this.#published[this.#at++] ?? 0;
  }
}

/** The rank of the bytes from `start` to `end`, which have one character each; -1: they are no token. */
export function rankOf({ bytes, ends, places, longest }: PackedRanks, text: string, start: number, end: number): number {
  const length = end - start;
  if (length > longest) return -1;
  const last = places.length - 1;
  let hash = HASH_START;
  for (let at = start; at < end; at++) hash = hashOn(hash, text.charCodeAt(at));
  for (let place = placeOf(hash) & last; ; place = (place + 1) & last) {
    const rank = (places[place] as number) - 1;
    if (rank < 0) return -1;
    const from = rank === 0 ? 0 : (ends[rank - 1] as number);
    if ((ends[rank] as number) - from !== length) continue;
    let at = 0;
    while (at < length && bytes[from + at] === text.charCodeAt(start + at)) at++;
    if (at === length) return rank;
  }
}

// FNV-1a, with its upper bits mixed into the lower ones, which are used.
const HASH_START = 0x811c9dc5;
const hashOn = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);
const placeOf = (hash: number): number => hash ^ (hash >>> 15);

function countLines(text: Uint8Array): number {
  let lines = 0;
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}

const SIX_BITS = new Uint8Array(256);
for (const [value, letter] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries()) {
  SIX_BITS[letter.charCodeAt(0)] = value;
}
const PADDING = "=".charCodeAt(0);

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
