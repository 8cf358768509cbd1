import { lastCut, wholeCharacters } from "./cuts.ts";

/** How the gateway counts the tokens of a text whose provider does not report them. */
export interface TextCounter {
  /** Whether `countNow` is exact. */
  isReady(): boolean;
  /** A count without waiting, which starts to load what an exact count needs. Until it is exact it is too low, never too high. */
  countNow(text: string): number;
  /** The same without loading anything: a progress record of a call that will most likely report its usage costs nothing. */
  countWithLoaded(text: string): number;
  count(text: string): number | Promise<number>;
}

/** The longest unfinished text in memory, after the part before the last safe split is counted. */
export const HELD_CHARACTERS_MAX = 2 ** 16;
/** Longer than any model's answer. The text after it is counted by its length, at the tokens per character before it. */
export const EXACT_CHARACTERS_MAX = 2 ** 22;
/** A longer unfinished piece is left out of a running count: counting it each time would take longer and longer. */
const TAIL_CHARACTERS_MAX = 256;

/**
 * A text that arrives in pieces and may have any length. Only what an exact count still needs stays in memory: the rest is counted up to a
 * position where every vocabulary splits, and dropped, so that the parts add up to the tokens of the whole.
 */
export class CountedText {
  readonly #counter: TextCounter;
  #held = "";
  /** Up to this position no safe split was found. */
  #searched = 0;
  #tokens = 0;
  #characters = 0;
  /** The minimum tokens of the text up to this position, until an exact count is possible. */
  #roughTokens = 0;
  #roughUpTo = 0;

  constructor(counter: TextCounter) {
    this.#counter = counter;
  }

  get heldCharacters(): number {
    return this.#held.length;
  }

  add(text: string): void {
    this.#held += text;
    if (this.#held.length > HELD_CHARACTERS_MAX) this.#shorten();
  }

  /** The tokens so far: what the text would have if it ended now, without an unfinished piece of more than `tailCharactersMax`. */
  soFar(tailCharactersMax = TAIL_CHARACTERS_MAX): number {
    if (!this.#counter.isReady()) return this.#tokens + this.#roughlyHeld();
    this.#countUpTo(lastCut(this.#held, this.#searched));
    return this.#tokens + (this.#held.length <= tailCharactersMax ? this.#counter.countNow(this.#held) : 0);
  }

  /** The tokens of the whole text, once it has ended. */
  total(): number | Promise<number> {
    const rest = this.#counter.count(this.#held);
    return rest instanceof Promise ? rest.then((tokens) => this.#tokens + tokens) : this.#tokens + rest;
  }

  /** The text in memory is counted exactly later: until then each part of it is counted once, too low, however often this is read. */
  #roughlyHeld(): number {
    const cut = lastCut(this.#held, this.#roughUpTo);
    if (cut > this.#roughUpTo) {
      this.#roughTokens += this.#counter.countWithLoaded(this.#held.slice(this.#roughUpTo, cut));
      this.#roughUpTo = cut;
    }
    const tail = this.#held.slice(this.#roughUpTo);
    return this.#roughTokens + (tail.length <= TAIL_CHARACTERS_MAX ? this.#counter.countWithLoaded(tail) : 0);
  }

  #shorten(): void {
    const cut = lastCut(this.#held, this.#searched);
    // A text of this length without a split is not language. Splitting it anywhere but inside a character costs a token or two.
    this.#countUpTo(cut > 0 ? cut : wholeCharacters(this.#held));
  }

  #countUpTo(cut: number): void {
    this.#searched = Math.max(0, this.#held.length - cut - 1);
    if (cut === 0) return;
    this.#roughUpTo = 0;
    this.#roughTokens = 0;
    const text = this.#held.slice(0, cut);
    this.#tokens +=
      this.#characters < EXACT_CHARACTERS_MAX ? this.#counter.countNow(text) : Math.floor((cut * this.#tokens) / this.#characters);
    this.#characters += cut;
    this.#held = this.#held.slice(cut);
  }
}
