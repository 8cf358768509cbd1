/**
 * Frees the memory of a chunk that was copied or written, if the chunk owns its buffer. Left to the garbage collector, chunks of 64 KB
 * cause some thirty full collections per gigabyte, which cost more than all copying, and dozens of megabytes wait for them.
 */
export function giveBack(chunk: Uint8Array): void {
  if (chunk.buffer instanceof ArrayBuffer && chunk.byteLength === chunk.buffer.byteLength) chunk.buffer.transfer(0);
}

/**
 * The same bytes in larger pieces, for a file. Each piece is valid until the next one. The chunks have no other user, so they are freed at
 * once.
 */
export async function* gathered(chunks: AsyncIterable<Uint8Array>, pieceBytes: number): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(pieceBytes);
  let used = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; ) {
      const part = chunk.subarray(at, at + pieceBytes - used);
      piece.set(part, used);
      used += part.byteLength;
      at += part.byteLength;
      if (used < pieceBytes) continue;
      yield piece;
      used = 0;
    }
    giveBack(chunk);
  }
  if (used > 0) yield piece.subarray(0, used);
}
