import { AppError } from "../../../common/errors.ts";

/** How guardrails read texts: `read` throws when one blocks, `mask` only masks. */
export interface TextReaders {
  read(texts: readonly string[]): Promise<readonly string[]>;
  mask(texts: readonly string[]): Promise<readonly string[]>;
}

/** Text that was already shown and is still checked together with the next text. */
const CONTEXT_LENGTH_MAX = 8192;
const CUTS_MAX = 8;

/**
 * The text of one choice on its way to the client. The last `reach` characters are always held back, so that a finding across chunks is
 * complete before any of it is shown.
 */
export class HeldText {
  readonly #readers: TextReaders;
  readonly #reach: number;
  #held = "";
  /** The shown text, as received and as shown. */
  #context = "";
  #shown = "";

  constructor(readers: TextReaders, reach: number) {
    this.#readers = readers;
    this.#reach = reach;
  }

  get heldCharacters(): number {
    return this.#held.length;
  }

  /** Adds text and returns what may be shown now, if anything. */
  async add(text: string): Promise<string> {
    this.#held += text;
    if (this.#held.length <= this.#reach) return "";
    const whole = await this.#wholeRead();
    for (const cut of cutsOf(this.#held, this.#held.length - this.#reach)) {
      const rest = await this.#one("mask", this.#held.slice(cut));
      // A clean cut: both sides read separately equal the whole read at once, so no finding spans it.
      if (whole.endsWith(rest) && whole.length >= this.#shown.length + rest.length)
        return this.#show(whole.slice(0, whole.length - rest.length), cut);
    }
    return "";
  }

  /** The end of the text: returns all that is left. */
  async flush(): Promise<string> {
    if (this.#held === "") return "";
    return this.#show(await this.#wholeRead(), this.#held.length);
  }

  async #wholeRead(): Promise<string> {
    const whole = await this.#one("read", this.#context + this.#held);
    if (whole.startsWith(this.#shown)) return whole;
    throw new AppError("CONTENT_POLICY_VIOLATION", "A guardrail found a match that begins in text that was already sent.");
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

/** Where a text may be cut, best first: as far as allowed, or before an earlier space. Never inside a surrogate pair. */
function cutsOf(text: string, most: number): number[] {
  const first = /[\uDC00-\uDFFF]/.test(text.charAt(most)) ? most - 1 : most;
  const cuts = [first];
  for (let place = first - 1; place > 0 && cuts.length < CUTS_MAX; place--) if (/\s/.test(text.charAt(place))) cuts.push(place);
  return cuts;
}
