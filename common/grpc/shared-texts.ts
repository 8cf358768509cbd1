import { BinaryReader } from "@bufbuild/protobuf/wire";

/** Longer texts are names and messages, which are seldom repeated. */
const BYTES_MAX = 64;
const SLOTS = 256;

interface KnownText {
  readonly start: number;
  readonly length: number;
  readonly text: string;
}

/**
 * Reads a message that repeats its texts, as the rows of a batch do with ids and names. A repeated text is found by its bytes and not
 * decoded again, and its string is the same object, which makes later comparisons and look-ups cheap. The library's own reader decodes
 * texts of more than 32 bytes by TextDecoder, and our ids have 37.
 */
export class SharedTexts extends BinaryReader {
  readonly #bytes: Buffer;
  readonly #words: DataView;
  readonly #known: (KnownText | undefined)[] = new Array(SLOTS).fill(undefined);

  constructor(bytes: Buffer) {
    super(bytes);
    this.#bytes = bytes;
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  override string(strict?: boolean): string {
    const before = this.pos;
    const length = this.uint32();
    const start = this.pos;
    if (length === 0) return "";
    if (length <= BYTES_MAX && start + length <= this.len) {
      const text = this.#shared(start, length);
      if (text !== undefined) {
        this.pos = start + length;
        return text;
      }
    }
    this.pos = before;
    return super.string(strict);
  }

  /** Undefined if the text is not ASCII. */
  #shared(start: number, length: number): string | undefined {
    const bytes = this.#bytes;
    const last = start + length - 1;
    const slot = ((bytes[last] as number) * 31 + (bytes[start + (length >> 1)] as number) * 7 + length) % SLOTS;
    const known = this.#known[slot];
    if (known?.length === length && isEqual(this.#words, known.start, start, length)) return known.text;
    for (let at = start; at <= last; at++) if ((bytes[at] as number) > 0x7f) return undefined;
    const text = bytes.toString("latin1", start, last + 1);
    this.#known[slot] = { start, length, text };
    return text;
  }
}

/** Four bytes at a time, of which the last four may overlap those before. */
function isEqual(words: DataView, left: number, right: number, length: number): boolean {
  if (length < 4) {
    for (let at = 0; at < length; at++) if (words.getUint8(left + at) !== words.getUint8(right + at)) return false;
    return true;
  }
  // From the end: ids of one kind begin alike.
  for (let at = length - 4; at > 0; at -= 4) if (words.getInt32(left + at) !== words.getInt32(right + at)) return false;
  return words.getInt32(left) === words.getInt32(right);
}
