/** Concatenates all pieces. */
export function joinPieces(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}

/**
 * The same bytes in pieces whose sizes are multiples of three, except the last, so that base64 can be made of each alone. A piece has at
 * most `bytesMax` bytes.
 */
export function* byThrees(pieces: Iterable<Uint8Array>, bytesMax: number): Generator<Uint8Array> {
  let held = new Uint8Array(0);
  for (const piece of pieces) {
    const missing = Math.min(held.byteLength === 0 ? 0 : 3 - held.byteLength, piece.byteLength);
    if (missing > 0) held = joinPieces([held, piece.subarray(0, missing)]);
    if (held.byteLength === 3) {
      yield held;
      held = new Uint8Array(0);
    }
    const end = missing + Math.floor((piece.byteLength - missing) / 3) * 3;
    for (let at = missing; at < end; at += bytesMax) yield piece.subarray(at, Math.min(end, at + bytesMax));
    if (end < piece.byteLength) held = piece.slice(end);
  }
  if (held.byteLength > 0) yield held;
}
