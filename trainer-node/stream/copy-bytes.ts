/**
 * Copies all of `source` to the beginning of `target` by `fill`, the only way to a plain memory copy: if either side is shared memory,
 * `set` and `copy` go word by word, and byte by byte if the two are not aligned alike, which is the case for request bodies.
 */
export function copyBytes(source: Uint8Array, target: Uint8Array): void {
  if (source.byteLength > target.byteLength) throw new RangeError(`${source.byteLength} bytes do not fit in ${target.byteLength}`);
  if (source.byteLength === 0) return;
  Buffer.from(target.buffer, target.byteOffset, source.byteLength).fill(source);
}
