/** An answer of a Python process: four bytes of header length, a JSON header, and the `bytes` that it announces. */
export interface Frame {
  readonly header: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

const LENGTH_BYTES = 4;

/** Reads frames from chunks of any size. */
export function readFrames(onFrame: (frame: Frame) => void): (chunk: Uint8Array) => void {
  let chunks: Uint8Array[] = [];
  let held = 0;
  let wanted = LENGTH_BYTES;
  return (chunk) => {
    chunks.push(chunk);
    held += chunk.byteLength;
    while (held >= wanted) {
      const whole = Buffer.concat(chunks);
      const needed = neededBytes(whole);
      if (whole.byteLength >= needed.total && needed.isKnown) {
        const { header, end } = readHeader(whole);
        onFrame({ header, body: whole.subarray(end, needed.total) });
        chunks = [whole.subarray(needed.total)];
        held = whole.byteLength - needed.total;
        wanted = LENGTH_BYTES;
      } else {
        chunks = [whole];
        wanted = needed.total;
      }
    }
  };
}

/** How many bytes the first frame needs as far as is known: all of them once its header is there. */
function neededBytes(whole: Buffer): { total: number; isKnown: boolean } {
  const end = LENGTH_BYTES + whole.readUInt32LE(0);
  if (whole.byteLength < end) return { total: end, isKnown: false };
  const { header } = readHeader(whole);
  return { total: end + Number(header["bytes"] ?? 0), isKnown: true };
}

function readHeader(whole: Buffer): { header: Record<string, unknown>; end: number } {
  const end = LENGTH_BYTES + whole.readUInt32LE(0);
  return { header: JSON.parse(whole.toString("utf8", LENGTH_BYTES, end)) as Record<string, unknown>, end };
}
