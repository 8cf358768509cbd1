/** Between texts of a row, so that a search does not find the end of one and the start of the next. */
export const TEXT_END = "\0";

export function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** A text of its own. Texts of a record may be slices of one string, or joined ones, and retain all of it. */
export function copyOf(text: string): string {
  const encoding = isAscii(text) ? "latin1" : "utf16le";
  return Buffer.from(text, encoding).toString(encoding);
}

/** The distinct values of a column, by their codes. */
export class Distinct<T> {
  readonly values: T[] = [];
  readonly #codes = new Map<string, number>();

  codeOf(key: string): number | undefined {
    return this.#codes.get(key);
  }

  put(key: string, value: T): number {
    const code = this.values.push(value) - 1;
    this.#codes.set(key, code);
    return code;
  }
}

/** Texts of a chunk as one text, so that a search is one pass over it and a text has no object of its own. */
export class TextColumn {
  readonly #ends: Uint32Array;
  #rows = 0;
  #text = "";
  /** Ids of this platform are in lower case. */
  #isLower = true;

  constructor(rowsMax: number) {
    this.#ends = new Uint32Array(rowsMax);
  }

  push(text: string): void {
    this.#text += text + TEXT_END;
    this.#isLower &&= text === text.toLowerCase();
    this.#ends[this.#rows++] = this.#text.length;
    if (this.#rows === this.#ends.length) this.compact();
  }

  /** Makes one string of the pieces; nothing is added after that. */
  compact(): void {
    this.#text = copyOf(this.#text);
  }

  at(place: number): string {
    return this.#text.slice(this.#startOf(place), (this.#ends[place] as number) - TEXT_END.length);
  }

  /** The places of the texts that contain the search, which is in lower case. */
  containing(search: string): ReadonlySet<number> {
    const places = new Set<number>();
    const text = this.#isLower ? this.#text : this.#text.toLowerCase();
    for (let hit = text.indexOf(search), place = 0; hit !== -1; hit = text.indexOf(search, this.#ends[place])) {
      place = this.#placeOf(hit, place);
      places.add(place);
    }
    return places;
  }

  #startOf(place: number): number {
    return place === 0 ? 0 : (this.#ends[place - 1] as number);
  }

  /** The row of a character, found by bisection from a place before it. */
  #placeOf(character: number, from: number): number {
    let [low, high] = [from, this.#rows - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ends[middle] as number) > character) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
