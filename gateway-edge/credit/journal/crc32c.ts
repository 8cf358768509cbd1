/** CRC-32C (Castagnoli), as storage systems use it: it finds torn or flipped bytes that a length alone would miss. */
export function crc32c(bytes: Uint8Array, { from = 0, to = bytes.length, seed = 0 } = {}): number {
  let crc = ~seed;
  let index = from;
  // Four bytes at a time, each by the table for its position.
  for (; index + 4 <= to; index += 4) {
    crc ^=
      (bytes[index] as number) |
      ((bytes[index + 1] as number) << 8) |
      ((bytes[index + 2] as number) << 16) |
      ((bytes[index + 3] as number) << 24);
    crc =
      (TABLE_3[crc & 0xff] as number) ^
      (TABLE_2[(crc >>> 8) & 0xff] as number) ^
      (TABLE_1[(crc >>> 16) & 0xff] as number) ^
      (TABLE[crc >>> 24] as number);
  }
  for (; index < to; index++) crc = (TABLE[(crc ^ (bytes[index] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

const REVERSED_POLYNOMIAL = 0x82f63b78;

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? REVERSED_POLYNOMIAL ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** The same byte, with one zero byte more behind it for each table. */
const [TABLE_1, TABLE_2, TABLE_3] = [1, 2, 3].map((zeros) =>
  TABLE.map((entry) => {
    let crc = entry;
    for (let step = 0; step < zeros; step++) crc = (TABLE[crc & 0xff] as number) ^ (crc >>> 8);
    return crc;
  }),
) as [Int32Array, Int32Array, Int32Array];
