import type { StreamPart } from "../provider.ts";
import { PlainText } from "../shared/provider-text.ts";

type TextDelta = Extract<StreamPart, { type: "text-delta" }>;

const CHOICES = '"choices":[';
const CHOICE = /\{"index":(\d{1,3}),"delta":\{"content":/y;
// Checked as strictly as a parser would: what is not valid JSON must not reach a client.
const STRING = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const REST =
  /^\},(?:"logprobs":null,)?"finish_reason":null(?:,"logprobs":null)?\}\](?:,"(?:usage|service_tier|system_fingerprint)":null)*(?:,"obfuscation":"[\w+/=-]*")?\}$/;

/**
 * Finds the chunks that make up nearly all of a stream, one choice with a piece of text and nothing else, without parsing them.
 * Any other chunk, however little it differs, gives undefined and is read in full.
 */
export class PlainDeltaReader {
  // Equal in every chunk of a stream, so looked at once.
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

/** Everything up to the choices, when it holds nothing that has to be read. */
function headOf(data: string): string | undefined {
  const at = data.indexOf(CHOICES);
  if (at < 0) return undefined;
  const head = data.slice(0, at + CHOICES.length);
  // Scalars only: an object in front of the choices may be an error, usage or a filter's verdict.
  return /^\{(?:"\w+":(?:"[^"\\]*"|-?\d+|null),)*"choices":\[$/.test(head) ? head : undefined;
}
