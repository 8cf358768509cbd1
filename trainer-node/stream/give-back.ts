/**
 * Frees the memory of a chunk that was copied or written, where it is the chunk's own. Left to the garbage collector, 64 KB a chunk make it
 * run over the whole heap some thirty times a gigabyte, which costs more than all the copying, and dozens of megabytes wait for it.
 */
export function giveBack(chunk: Uint8Array): void {
  if (chunk.buffer instanceof ArrayBuffer && chunk.byteLength === chunk.buffer.byteLength) chunk.buffer.transfer(0);
}

/** Chunks that nobody else has, each freed when the next is asked for. */
export async function* givenBack(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    giveBack(chunk);
  }
}
