/**
 * Copies all of `source` to the beginning of `target`. By `fill`, which is the one way to a plain memory copy: where either side is shared
 * memory, `set` and `copy` go a word at a time, and a byte at a time where the two are not aligned alike, as bodies on the wire never are.
 */
export function copyBytes(source: Uint8Array, target: Uint8Array): void {
  if (source.byteLength > target.byteLength) throw new RangeError(`${source.byteLength} bytes do not fit in ${target.byteLength}`);
  if (source.byteLength === 0) return;
  Buffer.from(target.buffer, target.byteOffset, source.byteLength).fill(source);
}
