/** Where the next bytes of interest are, counted from the end of those before, and who reads them. */
export interface Hop {
  readonly skip: number;
  readonly need: number;
  /** Undefined: nothing else of the file matters. */
  readonly read: (bytes: Buffer) => Hop | undefined;
}

/** Hops through a file that arrives in pieces of any size, without keeping it: readers of containers need a few bytes here and there. */
export class ByteHops {
  #next: Hop | undefined;
  #skipped = 0;
  #begun: Buffer | undefined;

  constructor(first: Hop) {
    this.#next = first;
  }

  add(piece: Buffer): void {
    for (let at = 0; this.#next && at < piece.length; ) {
      const passed = Math.min(this.#next.skip - this.#skipped, piece.length - at);
      this.#skipped += passed;
      at += passed;
      if (at < piece.length) at = this.#take(this.#next, piece, at);
    }
  }

  #take({ need, read }: Hop, piece: Buffer, at: number): number {
    const end = Math.min(piece.length, at + need - (this.#begun?.length ?? 0));
    const part = piece.subarray(at, end);
    const bytes = this.#begun ? Buffer.concat([this.#begun, part]) : part;
    if (bytes.length < need) {
      // A copy: the piece belongs to its sender.
      this.#begun = Buffer.from(bytes);
      return end;
    }
    this.#begun = undefined;
    this.#skipped = 0;
    this.#next = read(bytes);
    return end;
  }
}
