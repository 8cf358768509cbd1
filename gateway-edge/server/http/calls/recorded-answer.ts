const MIBIBYTE = 1024 * 1024;
const ANSWER_BYTES_MAX = 64 * MIBIBYTE;
/** Of all answers of this edge that are recorded at the time. */
const ALL_BYTES_MAX = 512 * MIBIBYTE;

let allBytes = 0;

/** The body of an answer that will be stored, unless it is too large. */
export class RecordedAnswer {
  #pieces: (string | Uint8Array)[] | undefined = [];
  #bytes = 0;

  get isWhole(): boolean {
    return this.#pieces !== undefined;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: string | Uint8Array): void {
    if (!this.#pieces) return;
    const bytes = Buffer.byteLength(piece);
    this.#bytes += bytes;
    allBytes += bytes;
    this.#pieces.push(piece);
    if (this.#bytes > ANSWER_BYTES_MAX || allBytes > ALL_BYTES_MAX) this.release();
  }

  /** The pieces as bytes. */
  pieces(): Buffer[] {
    return (this.#pieces ?? []).map((piece) => Buffer.from(piece));
  }

  release(): void {
    this.#pieces = undefined;
    allBytes -= this.#bytes;
    this.#bytes = 0;
  }
}
