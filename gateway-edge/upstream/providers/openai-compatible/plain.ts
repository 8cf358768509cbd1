import type { StreamPart } from "../provider.ts";
import { PlainText } from "../shared/provider-text.ts";

type TextDelta = Extract<StreamPart, { type: "text-delta" }>;

const CHOICES = '"choices":[';
const CHOICE = /\{"index":(\d{1,3}),"delta":\{"content":/y;
// As strict as a parser: invalid JSON must not reach a client.
const STRING = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const REST =
  /^\},(?:"logprobs":null,)?"finish_reason":null(?:,"logprobs":null)?\}\](?:,"(?:usage|service_tier|system_fingerprint)":null)*(?:,"obfuscation":"[\w+/=-]*")?\}$/;

/**
 * Finds the chunks that make up nearly all of a stream, one choice with a fragment of text and nothing else, without parsing them. Any
 * other chunk, however small the difference, returns undefined and is parsed.
 */
export class PlainDeltaReader {
  // Equal in nearly every chunk of a stream, so checked once: what is before the text, and what is after it.
  #before = "";
  #rest = "";
  #choice = 0;

  read(data: string): TextDelta | undefined {
    const from = this.#before.length;
    // Compared as a part, because `startsWith` is compiled to a loop over characters.
    const isKnown = from > 0 && data.slice(0, from) === this.#before;
    return isKnown || this.#learn(data) ? this.#readText(data) : undefined;
  }

  #readText(data: string): TextDelta | undefined {
    const from = this.#before.length;
    STRING.lastIndex = from;
    if (!STRING.test(data)) return undefined;
    const end = STRING.lastIndex;
    const rest = data.slice(end);
    if (rest !== this.#rest) {
      if (!REST.test(rest)) return undefined;
      this.#rest = rest;
    }
    return end - from === EMPTY.length ? undefined : new PlainText(this.#choice, data.slice(from, end));
  }

  /** Whether nothing before the text has to be parsed. */
  #learn(data: string): boolean {
    const headEnd = endOfHead(data);
    if (headEnd === undefined) return false;
    CHOICE.lastIndex = headEnd;
    const choice = CHOICE.exec(data);
    if (!choice) return false;
    this.#before = data.slice(0, CHOICE.lastIndex);
    this.#choice = Number(choice[1]);
    return true;
  }
}

const EMPTY = '""';

/** Where the choices begin, if what is before them has nothing that must be parsed. */
function endOfHead(data: string): number | undefined {
  const at = data.indexOf(CHOICES);
  if (at < 0) return undefined;
  const end = at + CHOICES.length;
  // Scalars only: an object before the choices may be an error, usage or a filter's result.
  return /^\{(?:"\w+":(?:"[^"\\]*"|-?\d+|null),)*"choices":\[$/.test(data.slice(0, end)) ? end : undefined;
}
