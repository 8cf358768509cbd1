import type { IndexValue } from "../collections.ts";

/** Texts that share a span with others. Any other is a span of its own, because its length in bytes or its order is another than in characters. */
const PLAIN = /^[\x20-\x7e]{1,100}$/;
/** Sorts after every text that begins with the text before it. */
const LAST_CHARACTER = "\u{10FFFF}";

/** Divides numbers, or texts by their first characters, into spans that records are packed by. */
export class Spans {
  readonly #size: number;

  /** So many numbers, or so many characters. */
  constructor(size: number) {
    this.#size = size;
  }

  /** Sorts before all of its span, or is the first of it. */
  startOf(value: IndexValue): IndexValue {
    if (typeof value === "number") return Math.floor(value / this.#size) * this.#size;
    return PLAIN.test(value) ? value.slice(0, this.#size) : value;
  }

  /** Sorts after all of the span with this start. */
  endOf(start: IndexValue): IndexValue {
    return typeof start === "number" ? start + this.#size : start + LAST_CHARACTER;
  }
}
