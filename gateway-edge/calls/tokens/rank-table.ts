/**
 * The rank of each token of a vocabulary, by its bytes; they are characters of texts, one for each byte. It has no object per token: a Map of
 * 200,000 texts takes three times the memory, and each full collection visits all of them.
 */
export class RankTable {
  /** The tokens, one after the other. */
  readonly #bytes: Uint8Array;
  /** Where the token of a rank ends; it starts where the one before it ends. */
  readonly #ends: Uint32Array;
  /** Ranks by the hash of their tokens, each one more than it is; 0: free. A token whose place is taken has the next free one. */
  readonly #places: Uint32Array;
  #size = 0;
  #longest = 0;

  /** For at most so many tokens, which have at most so many bytes together. */
  constructor(tokens: number, bytes: number) {
    this.#bytes = new Uint8Array(bytes);
    this.#ends = new Uint32Array(tokens);
    // At most half of them are taken.
    this.#places = new Uint32Array(2 ** Math.ceil(Math.log2(2 * tokens + 1)));
  }

  get size(): number {
    return this.#size;
  }

  /** The length of the longest token in bytes. */
  get longest(): number {
    return this.#longest;
  }

  /** Gives the next rank to a part of a text. False: it has one already. */
  add(text: string, start: number, end: number): boolean {
    const place = this.#placeOf(text, start, end);
    if (this.#places[place] !== 0) return false;
    let filled = this.#startOf(this.#size);
    for (let at = start; at < end; at++) this.#bytes[filled++] = text.charCodeAt(at);
    this.#ends[this.#size++] = filled;
    this.#places[place] = this.#size;
    this.#longest = Math.max(this.#longest, end - start);
    return true;
  }

  /** The rank of a part of a text; -1: it is not a token. */
  rankOf(text: string, start: number, end: number): number {
    if (end - start > this.#longest) return -1;
    return (this.#places[this.#placeOf(text, start, end)] as number) - 1;
  }

  /** The place of a token, or the free one that it would have. */
  #placeOf(text: string, start: number, end: number): number {
    const last = this.#places.length - 1;
    let place = hashOf(text, start, end) & last;
    for (;;) {
      const taken = this.#places[place] as number;
      if (taken === 0 || this.#isToken(taken - 1, text, [start, end])) return place;
      place = (place + 1) & last;
    }
  }

  #startOf(rank: number): number {
    return rank === 0 ? 0 : (this.#ends[rank - 1] as number);
  }

  #isToken(rank: number, text: string, [start, end]: readonly [number, number]): boolean {
    const first = this.#startOf(rank);
    if ((this.#ends[rank] as number) - first !== end - start) return false;
    for (let at = start; at < end; at++) if (this.#bytes[first + at - start] !== text.charCodeAt(at)) return false;
    return true;
  }
}

/** FNV-1a; its upper bits are mixed into the lower ones, which alone choose a place. */
function hashOf(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}
