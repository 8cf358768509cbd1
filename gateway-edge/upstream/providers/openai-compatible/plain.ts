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
  // Equal in every chunk of a stream, so checked once.
  #head = "";
  #rest = "";

  read(data: string): TextDelta | undefined {
    if (this.#head === "" || !data.startsWith(this.#head)) {
      const found = headOf(data);
      if (found === undefined) return undefined;
      this.#head = found;
    }
    CHOICE.lastIndex = this.#head.length;
    const choice = CHOICE.exec(data);
    if (!choice) return undefined;
    STRING.lastIndex = CHOICE.lastIndex;
    if (!STRING.test(data)) return undefined;
    const json = data.slice(CHOICE.lastIndex, STRING.lastIndex);
    const rest = data.slice(STRING.lastIndex);
    if (rest !== this.#rest) {
      if (!REST.test(rest)) return undefined;
      this.#rest = rest;
    }
    return json === '""' ? undefined : new PlainText(Number(choice[1]), json);
  }
}

/** Everything up to the choices, if it has nothing that must be parsed. */
function headOf(data: string): string | undefined {
  const at = data.indexOf(CHOICES);
  if (at < 0) return undefined;
  const head = data.slice(0, at + CHOICES.length);
  // Scalars only: an object before the choices may be an error, usage or a filter's result.
  return /^\{(?:"\w+":(?:"[^"\\]*"|-?\d+|null),)*"choices":\[$/.test(head) ? head : undefined;
}
