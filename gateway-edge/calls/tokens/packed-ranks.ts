/** Token bytes by rank, as published for tiktoken. Unused ranks are holes. */
export type Ranks = readonly (string | readonly number[])[];

/**
 * The ranks of a vocabulary in a hash table of numbers. 200,000 texts in a map are 25 MB that every full garbage collection visits; this is
 * 4 MB that none does, and threads can give it to each other.
 */
export interface PackedRanks {
  /** The bytes of all tokens, in the order of their ranks. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where the bytes of a rank end; they start where those of the rank before it end. */
  readonly ends: Uint32Array<ArrayBuffer>;
  /** A rank and one, by the hash of its bytes; zero: free. A taken place continues at the next one. */
  readonly places: Int32Array<ArrayBuffer>;
  /** The length of the longest token in bytes. */
  readonly longest: number;
}

/** At most this part of the places is taken, so that most ranks are at the place of their hash. */
const FILL_MAX = 0.5;

export function packRanks(ranks: Ranks): PackedRanks {
  const tokens = Array.from(ranks, (token) => Buffer.from((token ?? []) as string));
  const bytes = Uint8Array.from(Buffer.concat(tokens));
  const ends = new Uint32Array(tokens.length);
  const places = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(tokens.length, 1) / FILL_MAX)));
  let [end, longest] = [0, 0];
  for (const [rank, token] of tokens.entries()) {
    end += token.length;
    ends[rank] = end;
    longest = Math.max(longest, token.length);
    if (token.length > 0) places[freePlace(places, token.toString("latin1"))] = rank + 1;
  }
  return { bytes, ends, places, longest };
}

/** The rank of the bytes from `start` to `end`, which have one character each; -1: they are no token. */
export function rankOf({ bytes, ends, places, longest }: PackedRanks, text: string, start: number, end: number): number {
  const length = end - start;
  if (length > longest) return -1;
  const last = places.length - 1;
  for (let place = hashOf(text, start, end) & last; ; place = (place + 1) & last) {
    const rank = (places[place] as number) - 1;
    if (rank < 0) return -1;
    const from = rank === 0 ? 0 : (ends[rank - 1] as number);
    if ((ends[rank] as number) - from !== length) continue;
    let at = 0;
    while (at < length && bytes[from + at] === text.charCodeAt(start + at)) at++;
    if (at === length) return rank;
  }
}

function freePlace(places: Int32Array, text: string): number {
  const last = places.length - 1;
  let place = hashOf(text, 0, text.length) & last;
  while (places[place] !== 0) place = (place + 1) & last;
  return place;
}

/** FNV-1a, with its upper bits mixed into the lower ones, which are used. */
function hashOf(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}
