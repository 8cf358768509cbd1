import { AppError } from "../../../common/errors.ts";

/** How guardrails read texts: `read` throws when one blocks, `mask` only changes what is to be masked. */
export interface TextReaders {
  read(texts: readonly string[]): Promise<readonly string[]>;
  mask(texts: readonly string[]): Promise<readonly string[]>;
}

/** Text that was shown and is still looked at together with what comes. */
const CONTEXT_LENGTH_MAX = 8192;
const CUTS_MAX = 8;

/**
 * The text of one choice on its way to the client. The last `reach` characters are always held back, so that a finding that spans
 * chunks is seen whole before any of it is shown.
 */
export class HeldText {
  readonly #readers: TextReaders;
  readonly #reach: number;
  #held = "";
  /** What was shown, as it came and as it was shown. */
  #context = "";
  #shown = "";

  constructor(readers: TextReaders, reach: number) {
    this.#readers = readers;
    this.#reach = reach;
  }

  get heldCharacters(): number {
    return this.#held.length;
  }

  /** Takes more text and gives what may be shown now, if anything. */
  async add(text: string): Promise<string> {
    this.#held += text;
    if (this.#held.length <= this.#reach) return "";
    const whole = await this.#wholeRead();
    for (const cut of cutsOf(this.#held, this.#held.length - this.#reach)) {
      const rest = await this.#one("mask", this.#held.slice(cut));
      // A clean cut: the two sides read apart are the same as read together, so no finding lies across it.
      if (whole.endsWith(rest) && whole.length >= this.#shown.length + rest.length)
        return this.#show(whole.slice(0, whole.length - rest.length), cut);
    }
    return "";
  }

  /** The end of the text: everything that is left. */
  async flush(): Promise<string> {
    if (this.#held === "") return "";
    return this.#show(await this.#wholeRead(), this.#held.length);
  }

  async #wholeRead(): Promise<string> {
    const whole = await this.#one("read", this.#context + this.#held);
    if (whole.startsWith(this.#shown)) return whole;
    throw new AppError("CONTENT_POLICY_VIOLATION", "A guardrail found something that reaches back into what was shown already.");
  }

  #show(whole: string, cut: number): string {
    const text = whole.slice(this.#shown.length);
    this.#context += this.#held.slice(0, cut);
    this.#shown += text;
    this.#held = this.#held.slice(cut);
    if (this.#context.length > CONTEXT_LENGTH_MAX) {
      this.#context = "";
      this.#shown = "";
    }
    return text;
  }

  async #one(how: keyof TextReaders, text: string): Promise<string> {
    const [result] = await this.#readers[how]([text]);
    return result ?? text;
  }
}

/** Where a text may be cut, best first: as far as allowed, or before a blank left of it. Never inside a pair of surrogates. */
function cutsOf(text: string, most: number): number[] {
  const first = /[\uDC00-\uDFFF]/.test(text.charAt(most)) ? most - 1 : most;
  const cuts = [first];
  for (let place = first - 1; place > 0 && cuts.length < CUTS_MAX; place--) if (/\s/.test(text.charAt(place))) cuts.push(place);
  return cuts;
}
