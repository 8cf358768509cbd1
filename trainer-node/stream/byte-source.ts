/** Bytes in pieces, pulled by a thread that may block for them. A piece is valid until the next call. */
export interface ByteSource {
  /** Undefined at the end. */
  next(): Uint8Array | undefined;
}

/** A source of one piece. */
export function wholeSource(bytes: Uint8Array): ByteSource {
  let left: Uint8Array | undefined = bytes;
  return {
    next: () => {
      const piece = left;
      left = undefined;
      return piece && piece.byteLength > 0 ? piece : undefined;
    },
  };
}

/** A source that reads several sources one after the other. */
export function joinedSource(...sources: readonly ByteSource[]): ByteSource {
  let at = 0;
  return {
    next: () => {
      while (at < sources.length) {
        const piece = sources[at]?.next();
        if (piece) return piece;
        at++;
      }
      return undefined;
    },
  };
}

/** Reads the rest of a source into one array. */
export function readAll(source: ByteSource): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = [];
  let total = 0;
  for (let piece = source.next(); piece; piece = source.next()) {
    pieces.push(piece.slice());
    total += piece.byteLength;
  }
  const whole = new Uint8Array(total);
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.byteLength;
  }
  return whole;
}
