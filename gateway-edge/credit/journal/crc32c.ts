/** CRC-32C (Castagnoli), as storage uses it: it finds every torn or flipped piece that a length alone would miss. */
export function crc32c(bytes: Uint8Array, { from = 0, to = bytes.length, seed = 0 } = {}): number {
  let crc = ~seed;
  for (let index = from; index < to; index++) crc = (TABLE[(crc ^ (bytes[index] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

const REVERSED_POLYNOMIAL = 0x82f63b78;

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? REVERSED_POLYNOMIAL ^ (crc >>> 1) : crc >>> 1;
  return crc;
});
